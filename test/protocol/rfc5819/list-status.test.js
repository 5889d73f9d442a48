import { test } from 'node:test'
import { append } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('LIST RETURN (STATUS) tells each mailbox right after its name, and none for what is no mailbox (RFC 5819 §2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: m CREATE a/b
    S: m OK ...
    C: m DELETE a
    S: m OK ...
    ${append('a/b')}
    ${append('a/b', { flags: '\\Seen' })}
    C: a LIST "" ("a*" INBOX) RETURN (CHILDREN STATUS (MESSAGES UNSEEN RECENT))
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: * STATUS INBOX (MESSAGES 0 UNSEEN 0 RECENT 0)
    S: * LIST (\\NonExistent \\HasChildren) "/" a
    S: * LIST (\\HasNoChildren) "/" a/b
    S: * STATUS a/b (MESSAGES 2 UNSEEN 1 RECENT 2)
    S: a OK ...
    C: b LIST (SUBSCRIBED) "" (INBOX "a/*") RETURN (STATUS (UIDNEXT))
    S: * LIST (\\HasNoChildren \\Subscribed) "/" INBOX
    S: * STATUS INBOX (UIDNEXT 1)
    S: b OK ...
    C: c LIST "" INBOX RETURN (STATUS (HIGHESTMODSEQ))
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: * STATUS INBOX (HIGHESTMODSEQ 1)
    S: c OK ...
    C: d LIST "" INBOX RETURN (STATUS)
    S: d BAD ...
    C: e LIST "" INBOX RETURN (STATUS (NONSENSE))
    S: e BAD ...
    `
  )
})

test('a mailbox that is named for those below it alone has no STATUS (RFC 5819 §2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: m CREATE a/b
    S: m OK ...
    C: m SUBSCRIBE a/b
    S: m OK ...
    C: a LIST (SUBSCRIBED RECURSIVEMATCH) "" (INBOX a) RETURN (STATUS (MESSAGES))
    S: * LIST (\\HasNoChildren \\Subscribed) "/" INBOX
    S: * STATUS INBOX (MESSAGES 0)
    S: * LIST (\\HasChildren) "/" a (CHILDINFO ("SUBSCRIBED"))
    S: a OK ...
    `
  )
})
