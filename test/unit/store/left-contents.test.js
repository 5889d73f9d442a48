/**
 * Long messages that are expunged while somebody is in the midst of reading them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { KEPT_MS } from '../../../src/store/left-contents.js'
import { accountFolder, appendOne, makeMessage } from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

const LONG = makeMessage('long', 3_000_000)

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const clock = new ManualClock()
  const account = await accountFolder(t)
  const here = await account.create({ clock })
  // As another process has it open.
  const there = await account.open({ clock })
  await appendOne(here, 'INBOX', LONG, ['\\Deleted'])
  await appendOne(here, 'INBOX', makeMessage('short'), ['\\Deleted'])
  const { view } = await here.openView('INBOX')
  const records = await here.readMessages(view.mailboxId, [1, 2], {})
  const [long, short] = records.map(({ contentId }) => contentId)
  return { clock, here, there, long: long ?? 0, short: short ?? 0 }
}

/** @param {AccountStore} store */
async function expungeAll(store) {
  const { view } = await store.openView('INBOX')
  await store.expunge({ view, uids: null })
  store.closeView(view)
}

/**
 * @param {AccountStore} store
 * @returns {Promise<unknown[]>} ids of the contents that are there
 */
const contents = (store) =>
  store.searchAccess.database.readSettled((db) =>
    db.prepare('SELECT id FROM contents ORDER BY id').pluck().all()
  )

for (const where of /** @type {const} */ (['here', 'there']))
  test(`who is in the midst of a long message gets all of it, though it is expunged ${where} and swept meanwhile`, async (t) => {
    const { clock, here, there, long, short } = await setUp(t)
    const reader = here.readContent(long)
    const pieces = [(await reader.next()).value]
    await expungeAll(where === 'here' ? here : there)
    for await (const piece of reader) {
      pieces.push(piece)
      // Slower than the sweep would wait for it, if it gave no sign of life.
      clock.advance(KEPT_MS / 2)
      await here.sync()
      await there.upkeep.sweep()
      assert.deepEqual(await contents(there), [long], `not ${short}`)
    }
    assert.ok(pieces.length > 10)
    assert.ok(Buffer.concat(/** @type {Buffer[]} */ (pieces)).equals(LONG))
    clock.advance(KEPT_MS + 1)
    assert.ok(await there.upkeep.hasGarbage())
    await there.upkeep.sweep()
    assert.deepEqual(await contents(there), [])
    assert.deepEqual((await there.verify()).problems, [])
  })

test('nobody has to ask for it: what was kept is swept when its time is over', async (t) => {
  const { clock, here } = await setUp(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await expungeAll(here)
  await here.upkeep.sweep()
  assert.equal((await contents(here)).length, 1)
  clock.advance(KEPT_MS + 1)
  t.mock.timers.tick(KEPT_MS + 1)
  t.mock.timers.tick(1000)
  t.mock.timers.reset()
  while ((await contents(here)).length > 0) await sleep(20)
})

test('what somebody gave up reading is kept for a while, and no longer', async (t) => {
  const { clock, here, long } = await setUp(t)
  const reader = here.readContent(long)
  await reader.next()
  await expungeAll(here)
  await reader.return()
  await here.upkeep.sweep()
  assert.deepEqual(await contents(here), [long])
  clock.advance(KEPT_MS + 1)
  await here.upkeep.sweep()
  assert.deepEqual(await contents(here), [])
})

test('a clock that was set back does not keep it for years', async (t) => {
  const { clock, here } = await setUp(t)
  await expungeAll(here)
  clock.advance(-365 * 24 * 3600 * 1000)
  await here.upkeep.sweep()
  assert.deepEqual(await contents(here), [])
})

test('a long message of a deleted mailbox is kept for who reads it, too', async (t) => {
  const { clock, here } = await setUp(t)
  await appendOne(here, 'Trash', makeMessage('another long one', 3_000_000))
  const { view } = await here.openView('Trash')
  const [record] = await here.readMessages(view.mailboxId, [1], {})
  const reader = here.readContent(record?.contentId ?? 0)
  await reader.next()
  here.closeView(view)
  await here.deleteMailbox('Trash')
  await here.upkeep.sweep()
  let bytes = 0
  for await (const piece of reader) bytes += piece.length
  assert.ok(bytes > 2_000_000)
  clock.advance(KEPT_MS + 1)
  await here.upkeep.sweep()
  assert.ok(!(await contents(here)).includes(record?.contentId))
})

test('one that is taken in again meanwhile stays', async (t) => {
  const { clock, here, long } = await setUp(t)
  await expungeAll(here)
  await appendOne(here, 'INBOX', LONG)
  clock.advance(KEPT_MS + 1)
  await here.upkeep.sweep()
  assert.deepEqual(await contents(here), [long])
  assert.deepEqual((await here.verify()).problems, [])
})
