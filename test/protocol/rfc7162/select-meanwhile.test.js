/** SELECT beside another session that expunges (RFC 7162 §3.1.2.1, §3.2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

/** In one of some seventy, the expunge falls between the beginning of the SELECT and its answer. */
const ROUNDS = 250

/**
 * @param {string} answer
 * @returns {number} what a client takes for its own: the last that it was told
 */
function highestModSeq(answer) {
  const told = [...answer.matchAll(/HIGHESTMODSEQ (\d+)/g)]
  return Number(told.at(-1)?.[1])
}

test('SELECT tells no HIGHESTMODSEQ that takes in an expunge which is told later', async (t) => {
  const server = await startImapServer(t)
  const selecting = await loggedIn(t, server)
  const other = await loggedIn(t, server)
  for (const client of [selecting, other]) await client.command('ENABLE QRESYNC')
  await other.command('SELECT INBOX')
  for (let round = 0; round < ROUNDS; round++) {
    await other.command('APPEND INBOX (\\Deleted)', MAIL)
    const [selected, expunged] = await Promise.all([
      selecting.command('SELECT INBOX'),
      other.command('EXPUNGE')
    ])
    const news = await selecting.command('NOOP')
    if (!news.includes('* VANISHED ')) continue
    const wouldMiss = `who loses the connection before\n${news}after\n${selected}never hears of it`
    assert.ok(highestModSeq(selected) < highestModSeq(expunged), wouldMiss)
  }
})
