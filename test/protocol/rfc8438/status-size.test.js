import { test } from 'node:test'
import { append, select, SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('STATUS SIZE is the sum of RFC822.SIZE, each copy counted, whatever is shared on disk (RFC 8438 §3)', async (t) => {
  const server = await startImapServer(t)
  const long = `Subject: y\r\n\r\n${'z'.repeat(3000)}\r\n`
  await transcript(
    server,
    `
    C: a STATUS INBOX (SIZE)
    S: * STATUS INBOX (SIZE 0)
    S: a OK ...
    ${append('INBOX')}
    ${append('INBOX')}
    ${append('INBOX', { message: long })}
    C: b STATUS INBOX (SIZE MESSAGES)
    S: * STATUS INBOX (SIZE ${SMALL_MESSAGE.length * 2 + long.length} MESSAGES 3)
    S: b OK ...
    C: c LIST "" INBOX RETURN (STATUS (SIZE))
    S: * LIST (...) "/" INBOX
    S: * STATUS INBOX (SIZE ${SMALL_MESSAGE.length * 2 + long.length})
    S: c OK ...
    ${select('INBOX', { exists: 3 })}
    C: d STORE 3 +FLAGS.SILENT (\\Deleted)
    S: d OK ...
    C: e CLOSE
    S: e OK ...
    C: f STATUS INBOX (SIZE)
    S: * STATUS INBOX (SIZE ${SMALL_MESSAGE.length * 2})
    S: f OK ...
    `
  )
})
