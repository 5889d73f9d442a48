import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('ENABLE names what is new, ignores what it does not know, and is OK in any case', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a ENABLE CONDSTORE X-NONSENSE UTF8=ACCEPT
    S: * ENABLED CONDSTORE UTF8=ACCEPT
    S: a OK ...
    C: b ENABLE condstore
    S: * ENABLED
    S: b OK ...
    C: c ENABLE X-IMAP4rev3 constructor
    S: * ENABLED
    S: c OK ...
    `
  )
})
