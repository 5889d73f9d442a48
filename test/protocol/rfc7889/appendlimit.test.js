import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('the limit stands in the capabilities and in STATUS, and holds (RFC 7889 §2 to §4)', async (t) => {
  const server = await startImapServer(t, { settings: { 'messages.maxBytes': 1_048_576 } })
  await transcript(
    server,
    `
    C: a CAPABILITY
    S: * CAPABILITY ... APPENDLIMIT=1048576 ...
    S: a OK ...
    C: b STATUS INBOX (APPENDLIMIT MESSAGES)
    S: * STATUS INBOX (APPENDLIMIT 1048576 MESSAGES 0)
    S: b OK ...
    C: c LIST "" INBOX RETURN (STATUS (APPENDLIMIT))
    S: * LIST (...) "/" INBOX
    S: * STATUS INBOX (APPENDLIMIT 1048576)
    S: c OK ...
    C: d APPEND INBOX {1048577}
    S: d NO [TOOBIG] ...
    C: e NOOP
    S: e OK ...
    `
  )
})
