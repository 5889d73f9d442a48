import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('SEARCH by flags, numbers, sizes, dates, headers and text; UID SEARCH answers UIDs', async (t) => {
  const server = await startImapServer(t)
  const jan = '" 5-Jan-2024 12:00:00 +0000"'
  const jun = '" 5-Jun-2024 12:00:00 +0000"'
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${append('INBOX', { flags: '\\Seen', date: jan, message: 'Subject: Apples\r\nFrom: a@example.org\r\n\r\nred fruit\r\n' })}
    ${append('INBOX', { flags: '\\Flagged $Tag', date: jun, message: `Subject: Pears\r\n\r\n${'x'.repeat(2000)}\r\n` })}
    ${select('INBOX', { exists: 3 })}
    C: a EXPUNGE
    S: * 1 EXPUNGE
    S: * 2 RECENT
    S: a OK ...
    C: b SEARCH ALL
    S: * SEARCH 1 2
    S: b OK ...
    C: c UID SEARCH ALL
    S: * SEARCH 2 3
    S: c OK ...
    C: d SEARCH UNSEEN
    S: * SEARCH 2
    S: d OK ...
    C: e SEARCH OR SEEN KEYWORD $Tag
    S: * SEARCH 1 2
    S: e OK ...
    C: f SEARCH LARGER 1000 SINCE 1-Feb-2024
    S: * SEARCH 2
    S: f OK ...
    C: g SEARCH SUBJECT apple FROM EXAMPLE
    S: * SEARCH 1
    S: g OK ...
    C: h UID SEARCH NOT BODY fruit
    S: * SEARCH 3
    S: h OK ...
    C: i SEARCH CHARSET UTF-8 TEXT {4}
    S: + ...
    C: pear
    S: * SEARCH 2
    S: i OK ...
    C: j SEARCH CHARSET X-UNKNOWN ALL
    S: j NO [BADCHARSET...] ...
    C: k UID SEARCH UID 3:*
    S: * SEARCH 3
    S: k OK ...
    C: l SEARCH 2:1 UNFLAGGED
    S: * SEARCH 1
    S: l OK ...
    C: m SEARCH NONSENSE
    S: m BAD ...
    `
  )
})

test('SEARCH for a string that breaks off within its first letter answers BAD and names no message', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: 'Subject: Apples\r\n\r\nred fruit\r\n' })}
    ${select('INBOX', { exists: 1 })}
    C: a SEARCH CHARSET UTF-16 SUBJECT A
    S: a BAD ...
    C: b UID SEARCH CHARSET UTF-7 NOT BODY +
    S: b BAD ...
    C: c SORT (ARRIVAL) UTF-16LE TEXT A
    S: c BAD ...
    C: d SEARCH CHARSET UTF-16 SUBJECT ""
    S: * SEARCH 1
    S: d OK ...
    C: e SEARCH CHARSET UTF-7 SUBJECT Apple
    S: * SEARCH 1
    S: e OK ...
    `
  )
})
