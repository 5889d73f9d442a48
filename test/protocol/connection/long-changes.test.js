/** What one command does to, or finds of, thousands of messages is told of each, with others' turns in the middle of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn, selectMany } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { turnsDuring } from '../../helpers/turns.js'

const DOUBLINGS = 14
const MESSAGES = 2 ** DOUBLINGS

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<import('../../helpers/wire-client.js').WireClient>} in INBOX, which has that many copies of one message
 */
async function withMany(t) {
  const client = await loggedIn(t, await startImapServer(t))
  await selectMany(client, DOUBLINGS)
  return client
}

for (const uid of ['', 'UID ']) {
  test(`${uid}STORE that leaves thousands of messages alone names each`, async (t) => {
    const client = await withMany(t)
    await client.command(`STORE 1:* +FLAGS.SILENT (\\Seen)`)
    const store = (/** @type {string} */ set) =>
      turnsDuring(t, () => client.command(`${uid}STORE ${set} (UNCHANGEDSINCE 1) +FLAGS (odd)`))
    const { answer } = await store('1:*')
    assert.match(answer, new RegExp(`^w\\d+ OK \\[MODIFIED 1:${MESSAGES}\\]`, 'm'))
    assert.equal(answer.match(/^\* \d+ FETCH .*$/gm)?.length, MESSAGES)
  })
}

test('STORE that leaves every second one of thousands alone names each and changes the others', async (t) => {
  const client = await withMany(t)
  await client.command('ENABLE CONDSTORE')
  const status = await client.command('STATUS INBOX (HIGHESTMODSEQ)')
  const modSeq = /HIGHESTMODSEQ (\d+)/.exec(status)?.[1]
  const odd = Array.from({ length: MESSAGES / 4 }, (_, index) => 2 * index + 1)
  await client.command(`STORE ${odd.join(',')} +FLAGS.SILENT (\\Flagged)`)
  const { answer } = await turnsDuring(t, () =>
    client.command(`STORE 1:* (UNCHANGEDSINCE ${modSeq}) +FLAGS.SILENT (even)`)
  )
  assert.equal(/\[MODIFIED (\S+)\]/.exec(answer)?.[1], odd.join(','))
  const even = await client.command('SEARCH RETURN (COUNT) KEYWORD even UNFLAGGED')
  assert.ok(even.includes(`COUNT ${MESSAGES - odd.length}`), even)
  const both = await client.command('SEARCH RETURN (COUNT) KEYWORD even FLAGGED')
  assert.ok(both.includes('COUNT 0'), both)
})

test('SEARCH for an EMAILID that thousands of messages have finds each', async (t) => {
  const client = await withMany(t)
  const id = /EMAILID \((\w+)\)/.exec(await client.command('FETCH 1 EMAILID'))?.[1]
  const { answer } = await turnsDuring(t, () =>
    client.command(`UID SEARCH RETURN (ALL) EMAILID ${id}`)
  )
  assert.ok(answer.includes(` ALL 1:${MESSAGES}\r\n`), answer.slice(0, 100))
})

test('MOVE of thousands of messages tells both sides all of it', async (t) => {
  const server = await startImapServer(t)
  const [client, other] = [await loggedIn(t, server), await loggedIn(t, server)]
  await selectMany(client, DOUBLINGS)
  await client.command('CREATE target')
  await other.command('SELECT target')
  await client.command('STORE 1,3,5,7 +FLAGS.SILENT (\\Deleted)')
  await client.command('EXPUNGE')
  const left = MESSAGES - 4
  const moved = await turnsDuring(t, () => client.command('MOVE 1:* target'))
  const [, source, target] = /COPYUID \d+ (\S+) (\S+)\]/.exec(moved.answer) ?? []
  assert.deepEqual([source, target], [`2,4,6,8:${MESSAGES}`, `1:${left}`])
  const expunged = Array.from(moved.answer.matchAll(/^\* (\d+) EXPUNGE/gm), ([, n]) => Number(n))
  assert.deepEqual(
    expunged,
    Array.from({ length: left }, (_, index) => left - index)
  )
  assert.match(await other.command('NOOP'), new RegExp(`^\\* ${left} EXISTS`, 'm'))
  const uids = await other.command('UID SEARCH RETURN (ALL) UNDELETED')
  assert.ok(uids.includes(` ALL 1:${left}\r\n`), uids)
  assert.match(await client.command('SEARCH RETURN (COUNT) ALL'), /COUNT 0/)
})
