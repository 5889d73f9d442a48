import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('CREATE (USE) makes a mailbox for its use, which LIST tells (RFC 6154 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a DELETE Sent
    S: a OK ...
    C: b CREATE mine/Outgoing (USE (\\sent))
    S: b OK ...
    C: c LIST "" "mine%" RETURN (SPECIAL-USE)
    S: * LIST (\\HasChildren) "/" mine
    S: c OK ...
    C: d LIST (SPECIAL-USE) "" "mine/*"
    S: * LIST (\\HasNoChildren \\Sent) "/" mine/Outgoing
    S: d OK ...
    C: e CREATE plain (USE ())
    S: e OK ...
    C: f LIST "" plain RETURN (SPECIAL-USE)
    S: * LIST (\\HasNoChildren) "/" plain
    S: f OK ...
    `
  )
})

test('a use that cannot be had is NO [USEATTR], and nothing is made (RFC 6154 §3)', async (t) => {
  const server = await startImapServer(t)
  const refused = ['\\All', '\\Flagged', '\\Important', '\\Custom', '\\Sent', '\\Junk \\Trash']
  await transcript(
    server,
    `
    C: x DELETE Junk
    S: x OK ...
    C: y DELETE Trash
    S: y OK ...
    ${refused.map((use) => `C: a CREATE wanted (USE (${use}))\nS: a NO [USEATTR] ...`).join('\n')}
    C: b LIST "" "wanted"
    S: b OK ...
    C: c CREATE wanted (USE \\Junk)
    S: c BAD ...
    C: d CREATE INBOX (USE (\\Junk))
    S: d NO [ALREADYEXISTS] ...
    `
  )
})
