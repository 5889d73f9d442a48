import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const REPORT = [
  'Subject: failed',
  'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
  '',
  '--b',
  '',
  'it did not work',
  '--b',
  'Content-Type: message/delivery-status',
  '',
  'Final-Recipient: rfc822; nobody@example.net',
  '--b--',
  ''
].join('\r\n')

const ATTACHMENTS = [
  'Subject: papers',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  '',
  'see below',
  '--b',
  'Content-Type: application/pdf; name="=?utf-8?Q?J=C3=A4nner.pdf?="',
  "Content-Disposition: attachment; filename*0*=utf-8''Rechnung%20J; filename*1*=%C3%A4nner.pdf",
  'Content-Description: the bill for',
  '\tthe first month',
  'Content-Transfer-Encoding: base64',
  '',
  'AAAA',
  '--b--',
  ''
].join('\r\n')

test('SEARCH finds the names of attachments, what reports say, and words on both sides of a fold', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: REPORT })}
    ${append('INBOX', { message: ATTACHMENTS })}
    ${append('INBOX', { message: 'Subject: the quick\r\n\tbrown  fox\r\nX-Note: long\r\n   ago\r\n\r\nbody\r\n' })}
    ${append('INBOX', { message: 'Subject: no blank line\r\n \r\nThis is what was written.\r\n' })}
    ${select('INBOX', { exists: 4 })}
    C: a SEARCH BODY "rfc822; nobody@example.net"
    S: * SEARCH 1
    S: a OK ...
    C: b SEARCH CHARSET UTF-8 BODY {17+}
    C: Rechnung Jänner.
    S: * SEARCH 2
    S: b OK ...
    C: c SEARCH CHARSET UTF-8 TEXT {11+}
    C: jänner.pdf
    S: * SEARCH 2
    S: c OK ...
    C: both SEARCH TEXT "failed" BODY "it did not" BODY "final-recipient"
    S: * SEARCH 1
    S: both OK ...
    C: one SEARCH OR (BODY "see below" NOT BODY "bill for") (BODY "it did not" NOT BODY "see below")
    S: * SEARCH 1
    S: one OK ...
    C: d SEARCH BODY "bill for the first"
    S: * SEARCH 2
    S: d OK ...
    C: e SEARCH SUBJECT "quick brown"
    S: * SEARCH 3
    S: e OK ...
    C: f SEARCH SUBJECT "brown  fox"
    S: * SEARCH 3
    S: f OK ...
    C: g SEARCH TEXT "long ago"
    S: * SEARCH 3
    S: g OK ...
    C: h SEARCH HEADER X-Note "long ago"
    S: * SEARCH 3
    S: h OK ...
    C: i SEARCH TEXT "what was written"
    S: * SEARCH 4
    S: i OK ...
    C: j SEARCH BODY "base64"
    S: * SEARCH
    S: j OK ...
    `
  )
})

test('SEARCH finds letters that are written as one character or as two, either by either', async (t) => {
  const server = await startImapServer(t)
  const parts = {
    one: 'Subject: J\u00e4nner\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nv\u00e0o l\u00fac\r\n',
    two: 'Subject: Ja\u0308nner\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nva\u0300o lu\u0301c\r\n'
  }
  await transcript(
    server,
    `
    ${append('INBOX', { message: parts.one })}
    ${append('INBOX', { message: parts.two })}
    ${select('INBOX', { exists: 2 })}
    C: a SEARCH CHARSET UTF-8 SUBJECT {7+}
    C: j\u00e4nner
    S: * SEARCH 1 2
    S: a OK ...
    C: b SEARCH CHARSET UTF-8 SUBJECT {8+}
    C: ja\u0308nner
    S: * SEARCH 1 2
    S: b OK ...
    C: c SEARCH CHARSET UTF-8 BODY {9+}
    C: v\u00e0o l\u00fac
    S: * SEARCH 1 2
    S: c OK ...
    C: d SEARCH CHARSET UTF-8 TEXT {11+}
    C: va\u0300o lu\u0301c
    S: * SEARCH 1 2
    S: d OK ...
    `
  )
})
