/**
 * What nobody waits for lets those go first who wait: while clients keep the event loop busy, messages are neither swept
 * away nor indexed, and both are done as soon as it has time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { readPending } from '../../../src/store/search/pending-rows.js'
import { LoopLoad } from '../../../src/support/loop-load.js'
import { accountFolder, appendOne, makeMessage } from '../../helpers/account-folder.js'

/** More than are indexed in passing. */
const MESSAGES = 40

/**
 * @param {Promise<unknown>} work - until it is done the event loop has hardly time for anything else
 */
async function keepBusyDuring(work) {
  const state = { isOver: false }
  const noteEnd = () => (state.isOver = true)
  work.then(noteEnd, noteEnd)
  while (!state.isOver) {
    const turnEnd = performance.now() + 5
    while (performance.now() < turnEnd);
    await setImmediate()
  }
}

test('a loop is busy while it works, and not while it waits', async () => {
  const load = new LoopLoad()
  await keepBusyDuring(sleep(200))
  assert.equal(load.isBusy, true)
  load.begin()
  await sleep(100)
  assert.equal(load.isBusy, false, 'counted from its beginning')
})

test('messages that have gone are swept away, and new ones indexed, when nobody is at work', async (t) => {
  const store = await (await accountFolder(t)).create()
  const { database } = store.searchAccess
  const left = () =>
    database.readSettled((db) => ({
      swept: db.prepare('SELECT count(*) FROM garbage_contents').pluck().get() === 0,
      indexed: readPending(db, 0, 1).length === 0
    }))
  const makeWork = async () => {
    for (let number = 0; number < MESSAGES; number++)
      await appendOne(store, 'INBOX', makeMessage(`message ${number}`))
    const { view } = await store.openView('INBOX')
    const uids = [...view.uids.subarray(0, 3)]
    await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
    await store.expunge({ view, uids })
    await sleep(4000)
  }
  // From its beginning: while the disk is waited for, the loop has time.
  const working = makeWork()
  await keepBusyDuring(working)
  await working
  assert.deepEqual(await left(), { swept: false, indexed: false })
  for (;;) {
    const { swept, indexed } = await left()
    if (swept && indexed) break
    await sleep(100)
  }
})
