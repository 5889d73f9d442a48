import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('STORE sets, adds and removes flags and keywords, and answers with them unless silent', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 2 })}
    C: a STORE 1 FLAGS (\\Seen \\Flagged)
    S: * 1 FETCH (FLAGS (\\Flagged \\Seen \\Recent))
    S: a OK ...
    C: b STORE 1:2 +FLAGS \\Answered
    S: * 1 FETCH (FLAGS (\\Answered \\Flagged \\Seen \\Recent))
    S: * 2 FETCH (FLAGS (\\Answered \\Recent))
    S: b OK ...
    C: c STORE 1 -FLAGS (\\Seen \\Answered)
    S: * 1 FETCH (FLAGS (\\Flagged \\Recent))
    S: c OK ...
    C: d STORE 1:* FLAGS.SILENT ()
    S: d OK ...
    C: e UID STORE 2 +FLAGS ($Label1)
    S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft $Label1)
    S: * OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft $Label1 \\*)] ...
    S: * 2 FETCH (UID 2 FLAGS ($Label1 \\Recent))
    S: e OK ...
    C: f STORE 2 -FLAGS ($LABEL1 $Never)
    S: * 2 FETCH (FLAGS (\\Recent))
    S: f OK ...
    C: g UID STORE 99 +FLAGS (\\Seen)
    S: g OK ...
    C: h STORE 3 +FLAGS (\\Seen)
    S: h BAD ...
    C: i STORE 1 +FLAGS (\\*)
    S: i BAD ...
    C: j FETCH 1:* FLAGS
    S: * 1 FETCH (FLAGS (\\Recent))
    S: * 2 FETCH (FLAGS (\\Recent))
    S: j OK ...
    `
  )
})

test('when all keywords are taken PERMANENTFLAGS loses \\*, and a new one gets NO [LIMIT]', async (t) => {
  const server = await startImapServer(t)
  const keywords = Array.from({ length: 59 }, (_, index) => `k${index}`).join(' ')
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a STORE 1 +FLAGS.SILENT (${keywords})
    S: a OK ...
    C: b FETCH 1 FLAGS
    S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft ${keywords})
    S: * OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft ${keywords})] ...
    S: * 1 FETCH (FLAGS (${keywords} \\Recent))
    S: b OK ...
    C: c STORE 1 +FLAGS (onemore)
    S: c NO [LIMIT] ...
    `
  )
})

test('other sessions hear of a change with their next command, the one that made it does not', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 2 })}
    ${select('INBOX', { exists: 2, connection: 2 })}
    1C: a STORE 1 +FLAGS.SILENT (\\Flagged)
    1S: a OK ...
    1C: b NOOP
    1S: b OK ...
    2C: a NOOP
    2S: * 1 FETCH (FLAGS (\\Flagged))
    2S: a OK ...
    1C: c STORE 2 +FLAGS.SILENT ($New)
    1S: c OK ...
    2C: b UID FETCH 1 UID
    2S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft $New)
    2S: * OK [PERMANENTFLAGS ...
    2S: * 1 FETCH (UID 1)
    2S: * 2 FETCH (UID 2 FLAGS ($New))
    2S: b OK ...
    `
  )
})
