/** A mailbox that another session deletes while it is selected, or is being selected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

/** In most of them the mailbox goes between the beginning of the SELECT and its end. */
const ROUNDS = 20

/** What a session is told whose mailbox is gone. */
const BYE = /\* BYE The selected mailbox was deleted\r\n/

test('a SELECT that is answered NO leaves no mailbox selected, also when it is deleted meanwhile (RFC 3501 §6.3.1)', async (t) => {
  const server = await startImapServer(t)
  const other = await loggedIn(t, server)
  for (let round = 0; round < ROUNDS; round++) {
    const selecting = await loggedIn(t, server)
    await selecting.command('ENABLE QRESYNC')
    await other.command('CREATE short')
    await other.command('APPEND short', MAIL)
    const status = await other.command('STATUS short (UIDVALIDITY)')
    const uidValidity = /UIDVALIDITY (\d+)/.exec(status)?.[1]
    const [selected] = await Promise.all([
      selecting.command(`SELECT short (QRESYNC (${uidValidity} 1))`),
      other.command('DELETE short')
    ])
    if (/^w\d+ OK/m.test(selected)) {
      selecting.send('n NOOP\r\n')
      await selecting.until(BYE)
    } else assert.match(await selecting.command('CHECK'), /^w\d+ BAD/, selected)
  }
})

for (const [command, reply] of /** @type {const} */ ([
  ['COPY 1 INBOX', 'NO [EXPUNGEISSUED]'],
  ['UID COPY 1 INBOX', 'NO [EXPUNGEISSUED]'],
  ['MOVE 1 INBOX', 'NO [EXPUNGEISSUED]'],
  ['STORE 1 +FLAGS (\\Seen)', 'NO [NONEXISTENT]'],
  ['EXPUNGE', 'NO [NONEXISTENT]'],
  ['NOOP', 'OK']
])) {
  test(`in a mailbox that is gone ${command} is answered ${reply}, and then the session ends`, async (t) => {
    const server = await startImapServer(t)
    await transcript(
      server,
      `
      C: a CREATE short
      S: a OK ...
      ${append('short', { flags: '\\Deleted' })}
      ${select('short', { exists: 1 })}
      2C: a DELETE short
      2S: a OK ...
      1C: b ${command}
      1S: b ${reply} ...
      1S: * BYE The selected mailbox was deleted
      1S! closed
      `
    )
  })
}

test('whoever leaves a mailbox that is gone goes on: CLOSE is answered OK (RFC 3501 §6.4.2), and another may be selected', async (t) => {
  const server = await startImapServer(t)
  const short = (/** @type {number} */ connection) =>
    select('short', { connection, exists: 1, unseen: false })
  await transcript(
    server,
    `
    C: a CREATE short
    S: a OK ...
    ${append('short', { flags: '\\Deleted \\Seen' })}
    ${short(1)}
    ${short(2)}
    3C: a DELETE short
    3S: a OK ...
    1C: b CLOSE
    1S: b OK ...
    1C: c CHECK
    1S: c BAD ...
    ${select('INBOX', { connection: 2, exists: 0, isAnother: true })}
    2C: c CHECK
    2S: c OK ...
    `
  )
})

test('IDLE in a mailbox that is gone ends, also where another process has deleted it: another of its name has other news', async (t) => {
  const server = await startImapServer(t)
  const sibling = await server.startSibling()
  for (const where of [server, sibling]) {
    const here = await loggedIn(t, server)
    await here.command('CREATE short')
    await here.command('SELECT short')
    here.send('i IDLE\r\n')
    await here.until(/\+ idling\r\n/)
    const other = await loggedIn(t, where)
    await other.command('DELETE short')
    await other.command('CREATE short')
    await here.until(BYE)
    await other.command('DELETE short')
  }
})
