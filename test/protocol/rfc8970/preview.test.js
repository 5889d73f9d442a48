import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const ALTERNATIVE = [
  'Content-Type: multipart/alternative; boundary=b',
  '',
  '--b',
  'Content-Type: text/html',
  '',
  '<style>p { color: red }</style><p>The <b>HTML</b> part</p>',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('> what you wrote\r\n\r\nGr\u00fc\u00dfe   from\r\nhere').toString('base64'),
  '--b--',
  ''
].join('\r\n')

const HTML =
  'Content-Type: text/html\r\n\r\n<a href="https://tracker.example/x"><img alt="logo"></a><p>Only HTML &amp; words</p>\r\n'

const ENCRYPTED =
  'Content-Type: multipart/encrypted; boundary=b\r\n\r\n--b\r\n\r\nVersion: 1\r\n--b--\r\n'

test('PREVIEW: text before HTML, without quotes, markup and links; nothing of encrypted mail (RFC 8970 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: ALTERNATIVE })}
    ${append('INBOX', { message: HTML })}
    ${append('INBOX', { message: ENCRYPTED })}
    ${append('INBOX', { message: `Subject: long\r\n\r\n${'word '.repeat(100)}\r\n` })}
    ${select('INBOX', { exists: 4 })}
    C: a FETCH 1 PREVIEW
    S: * 1 FETCH (PREVIEW {17}
    S: ${Buffer.from('Gr\u00fc\u00dfe from here').toString('latin1')})
    S: a OK ...
    C: b FETCH 2:4 (PREVIEW UID)
    S: * 2 FETCH (PREVIEW "Only HTML & words" UID 2)
    S: * 3 FETCH (PREVIEW "" UID 3)
    S: * 4 FETCH (PREVIEW "${'word '.repeat(40).trim()}" UID 4)
    S: b OK ...
    `
  )
})

test('PREVIEW: of parts in which nothing is to be seen the next one, but not of hundreds', async (t) => {
  const server = await startImapServer(t)
  const blank = '--b\r\nContent-Type: text/plain\r\n\r\n \r\n\r\n'
  const rule = '--b\r\nContent-Type: text/html\r\n\r\n<hr><br>\r\n'
  const page = '--b\r\nContent-Type: text/html\r\n\r\n<p>News\r\n'
  const signature = '--b\r\n\r\nSent from afar\r\n'
  const picture = '--b\r\nContent-Type: image/png\r\n\r\nx\r\n'
  const messages = [
    `alternative; boundary=b\r\n\r\n${blank}${page}--b--\r\n`,
    `alternative; boundary=b\r\n\r\n${page}${blank}--b--\r\n`,
    `mixed; boundary=b\r\n\r\n${blank}${picture}${signature}--b--\r\n`,
    `related; boundary=b\r\n\r\n${rule}${picture}--b--\r\n`,
    `mixed; boundary=b\r\n\r\n${rule.repeat(300)}${signature}--b--\r\n`
  ].map((rest) => `Content-Type: multipart/${rest}`)
  await transcript(
    server,
    `
    ${messages.map((message) => append('INBOX', { message })).join('\n')}
    ${select('INBOX', { exists: 5 })}
    C: a FETCH 1:5 PREVIEW
    S: * 1 FETCH (PREVIEW "News")
    S: * 2 FETCH (PREVIEW "News")
    S: * 3 FETCH (PREVIEW "Sent from afar")
    S: * 4 FETCH (PREVIEW "")
    S: * 5 FETCH (PREVIEW "")
    S: a OK ...
    `
  )
})

test('LAZY gives what is there and NIL for the rest; no \\Seen is set (RFC 8970 §4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: 'Subject: a\r\n\r\nfirst\r\n' })}
    ${append('INBOX', { message: 'Subject: b\r\n\r\nsecond\r\n' })}
    ${select('INBOX', { exists: 2 })}
    C: a FETCH 1:2 (FLAGS PREVIEW (LAZY))
    S: * 1 FETCH (FLAGS (\\Recent) PREVIEW NIL)
    S: * 2 FETCH (FLAGS (\\Recent) PREVIEW NIL)
    S: a OK ...
    C: b FETCH 2 PREVIEW
    S: * 2 FETCH (PREVIEW "second")
    S: b OK ...
    C: c FETCH 1:2 PREVIEW (LAZY)
    S: * 1 FETCH (PREVIEW NIL)
    S: * 2 FETCH (PREVIEW "second")
    S: c OK ...
    C: d COPY 2 Trash
    S: d OK [COPYUID ...
    ${select('Trash', { exists: 1, isAnother: true })}
    C: e FETCH 1 (PREVIEW (LAZY) FLAGS)
    S: * 1 FETCH (PREVIEW "second" FLAGS (\\Recent))
    S: e OK ...
    C: f FETCH 1 PREVIEW (CHANGEDSINCE 1)
    S: * OK [HIGHESTMODSEQ ...
    S: * 1 FETCH (PREVIEW "second" MODSEQ (2))
    S: f OK ...
    C: g FETCH 1 (PREVIEW (LAZY EAGER))
    S: g BAD ...
    C: h FETCH 1 (PREVIEW (EAGER))
    S: h BAD ...
    `
  )
})
