import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('NAMESPACE: one personal namespace, pipelined with LIST as iOS sends them', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C-: a NAMESPACE
    C: 
    C: b LIST "" "INBOX" RETURN (SPECIAL-USE)
    S: * NAMESPACE (("" "/")) NIL NIL
    S: a OK ...
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: b OK ...
    `
  )
})
