import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const tree = ['a', 'a/b', 'a/b/c', 'd/e', 'f']
const subscribed = ['a/b', 'a/b/c', 'd/e', 'gone']

const make = [
  ...tree.map((name) => `C: m CREATE ${name}\nS: m OK ...`),
  ...subscribed.map((name) => `C: m SUBSCRIBE ${name}\nS: m OK ...`),
  'C: m DELETE d',
  'S: m OK ...'
].join('\n')

test('several patterns name each mailbox once (RFC 5258 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${make}
    C: a LIST "" ("a*" "%/b" INBOX)
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: * LIST (\\HasChildren) "/" a
    S: * LIST (\\HasChildren) "/" a/b
    S: * LIST (\\HasNoChildren) "/" a/b/c
    S: a OK ...
    C: b LIST "a/" ("%" "b/%")
    S: * LIST (\\HasChildren) "/" a/b
    S: * LIST (\\HasNoChildren) "/" a/b/c
    S: b OK ...
    C: c LIST () "" f
    S: * LIST (\\HasNoChildren) "/" f
    S: c OK ...
    C: no LIST "" ("a&" f "&&")
    S: * LIST (\\HasNoChildren) "/" f
    S: no OK ...
    C: none LIST "" ("a&")
    S: none OK ...
    C: empty LIST f ("" "/x")
    S: empty OK ...
    C: both LIST f ("" "%")
    S: * LIST (\\HasNoChildren) "/" f
    S: both OK ...
    C: d LIST (REMOTE) "" f
    S: * LIST (\\HasNoChildren) "/" f
    S: d OK ...
    C: e LIST (REMOTE) "" "d*" RETURN ()
    S: * LIST (\\NonExistent \\HasChildren) "/" d
    S: * LIST (\\HasNoChildren) "/" d/e
    S: e OK ...
    `
  )
})

test('an empty pattern alone leaves the reference as the name, as SnappyMail asks for what it has made', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${make}
    C: made LIST "a/b" "" RETURN (SUBSCRIBED STATUS (MESSAGES))
    S: * LIST (\\HasChildren \\Subscribed) "/" a/b
    S: * STATUS a/b (MESSAGES 0)
    S: made OK ...
    C: gone LIST "a/none" "" RETURN (SUBSCRIBED)
    S: gone OK ...
    C: nothing LIST "" "" RETURN (SUBSCRIBED)
    S: nothing OK ...
    C: root LIST "a/b" ""
    S: * LIST (\\Noselect) "/" ""
    S: root OK ...
    `
  )
})

test('SUBSCRIBED selects names, also those without a mailbox, and RETURN tells of each (RFC 5258 §3.1, §3.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${make}
    C: a LIST (SUBSCRIBED) "" ("a*" "d*" "g*" f)
    S: * LIST (\\HasChildren \\Subscribed) "/" a/b
    S: * LIST (\\HasNoChildren \\Subscribed) "/" a/b/c
    S: * LIST (\\HasNoChildren \\Subscribed) "/" d/e
    S: * LIST (\\NonExistent \\HasNoChildren \\Subscribed) "/" gone
    S: a OK ...
    C: b LIST "" ("a%" "a/%" "g*") RETURN (SUBSCRIBED CHILDREN)
    S: * LIST (\\HasChildren) "/" a
    S: * LIST (\\HasChildren \\Subscribed) "/" a/b
    S: b OK ...
    `
  )
})

test('RECURSIVEMATCH names what stands above a match that no pattern takes (RFC 5258 §3.1, §3.5)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${make}
    C: a LIST (SUBSCRIBED RECURSIVEMATCH) "" ("a" "d" "f" "g%")
    S: * LIST (\\HasChildren) "/" a (CHILDINFO ("SUBSCRIBED"))
    S: * LIST (\\NonExistent \\HasChildren) "/" d (CHILDINFO ("SUBSCRIBED"))
    S: * LIST (\\NonExistent \\HasNoChildren \\Subscribed) "/" gone
    S: a OK ...
    C: b LIST (RECURSIVEMATCH SUBSCRIBED) "" "a*"
    S: * LIST (\\HasChildren \\Subscribed) "/" a/b (CHILDINFO ("SUBSCRIBED"))
    S: * LIST (\\HasNoChildren \\Subscribed) "/" a/b/c
    S: b OK ...
    C: c LIST (RECURSIVEMATCH SUBSCRIBED) "" "a/%"
    S: * LIST (\\HasChildren \\Subscribed) "/" a/b (CHILDINFO ("SUBSCRIBED"))
    S: c OK ...
    C: d LIST (RECURSIVEMATCH) "" "*"
    S: d BAD ...
    C: e LIST (RECURSIVEMATCH REMOTE) "" "*"
    S: e BAD ...
    `
  )
})

test('CHILDINFO stands wherever a mailbox below meets the criteria, listed or not (RFC 5258 §3.5, §5 example 9)', async (t) => {
  const server = await startImapServer(t)
  const there = ['foo2/bar1', 'foo2/bar2', 'baz2/bar2', 'baz2/bar22', 'baz2/bar222', 'eps2/mamba']
  const names = [...there, 'eps2']
  await transcript(
    server,
    `
    ${there.map((name) => `C: m CREATE ${name}\nS: m OK ...`).join('\n')}
    ${names.map((name) => `C: m SUBSCRIBE ${name}\nS: m OK ...`).join('\n')}
    C: a LIST (RECURSIVEMATCH SUBSCRIBED) "" "*2"
    S: * LIST (\\HasNoChildren \\Subscribed) "/" baz2/bar2
    S: * LIST (\\HasNoChildren \\Subscribed) "/" baz2/bar22
    S: * LIST (\\HasNoChildren \\Subscribed) "/" baz2/bar222
    S: * LIST (\\HasChildren \\Subscribed) "/" eps2 (CHILDINFO ("SUBSCRIBED"))
    S: * LIST (\\HasChildren) "/" foo2 (CHILDINFO ("SUBSCRIBED"))
    S: * LIST (\\HasNoChildren \\Subscribed) "/" foo2/bar2
    S: a OK ...
    # What is listed all the same has it too, although a client could tell by itself.
    C: b LIST (RECURSIVEMATCH SUBSCRIBED) "" "eps2*"
    S: * LIST (\\HasChildren \\Subscribed) "/" eps2 (CHILDINFO ("SUBSCRIBED"))
    S: * LIST (\\HasNoChildren \\Subscribed) "/" eps2/mamba
    S: b OK ...
    `
  )
})

test('SPECIAL-USE selects, alone and below a level (RFC 6154 §2, RFC 5258 §3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a RENAME Sent old/Sent
    S: a OK ...
    C: b LIST (SPECIAL-USE RECURSIVEMATCH) "" "%"
    S~: * LIST (\\HasNoChildren \\Archive) "/" Archive
    S~: * LIST (\\HasNoChildren \\Drafts) "/" Drafts
    S~: * LIST (\\HasNoChildren \\Junk) "/" Junk
    S~: * LIST (\\HasNoChildren \\Trash) "/" Trash
    S~: * LIST (\\NonExistent \\HasChildren) "/" old (CHILDINFO ("SPECIAL-USE"))
    S: b OK ...
    C: c LIST (SPECIAL-USE SUBSCRIBED) "" "old/*" RETURN (SPECIAL-USE)
    S: c OK ...
    C: d LIST (SPECIAL-USE) "" "old/*" RETURN (SPECIAL-USE)
    S: * LIST (\\HasNoChildren \\Sent) "/" old/Sent
    S: d OK ...
    `
  )
})

test('options that nobody knows are BAD, in either list', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a LIST (NONSENSE) "" "*"
    S: a BAD ...
    C: b LIST "" "*" RETURN (NONSENSE)
    S: b BAD ...
    C: c LIST "" "*" WITH (CHILDREN)
    S: c BAD ...
    `
  )
})

test('more patterns than any program sends are refused', async (t) => {
  const server = await startImapServer(t)
  const patterns = Array.from({ length: 101 }, (_, nth) => `*a${nth}`).join(' ')
  await transcript(
    server,
    `
    C: a LIST "" (${patterns})
    S: a NO [LIMIT] ...
    C: b LIST "" (${'*x '.repeat(300)}INBOX)
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: b OK ...
    `
  )
})
