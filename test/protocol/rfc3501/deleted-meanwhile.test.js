/** A mailbox that another session deletes while it is selected, or is being selected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

/** In most of them the mailbox goes between the beginning of the SELECT and its end. */
const ROUNDS = 20

test('a SELECT that is answered NO leaves no mailbox selected, also when it is deleted meanwhile (RFC 3501 §6.3.1)', async (t) => {
  const server = await startImapServer(t)
  const selecting = await loggedIn(t, server)
  const other = await loggedIn(t, server)
  await selecting.command('ENABLE QRESYNC')
  for (let round = 0; round < ROUNDS; round++) {
    await other.command('CREATE short')
    await other.command('APPEND short', MAIL)
    const status = await other.command('STATUS short (UIDVALIDITY)')
    const uidValidity = /UIDVALIDITY (\d+)/.exec(status)?.[1]
    const [selected] = await Promise.all([
      selecting.command(`SELECT short (QRESYNC (${uidValidity} 1))`),
      other.command('DELETE short')
    ])
    const check = await selecting.command('CHECK')
    const isSelected = /^w\d+ OK/m.test(selected)
    assert.match(check, isSelected ? /^w\d+ OK/ : /^w\d+ BAD/, `${selected}${check}`)
  }
})

test('what was in a mailbox that is gone cannot be copied, and no other need be created for it', async (t) => {
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
    1C: b COPY 1 INBOX
    1S: b NO [EXPUNGEISSUED] ...
    1C: c UID COPY 1 INBOX
    1S: c NO [EXPUNGEISSUED] ...
    1C: d MOVE 1 INBOX
    1S: d NO [EXPUNGEISSUED] ...
    1C: e STORE 1 +FLAGS (\\Seen)
    1S: e NO [NONEXISTENT] ...
    1C: f EXPUNGE
    1S: f NO [NONEXISTENT] ...
    # RFC 3501 §6.4.2 knows no NO.
    1C: g CLOSE
    1S: g OK ...
    1C: h CHECK
    1S: h BAD ...
    `
  )
})
