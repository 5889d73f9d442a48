import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'node:test'
import { mailFile } from '../../../../src/database/database-files.js'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { BACKGROUND_NICENESS } from '../../../../src/support/step-back.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'
import { pendingCount, searcher } from '../../../helpers/index-oracle.js'

/** @import { AccountStore } from '../../../../src/store/account-store.js' */

const TASKS = '/proc/self/task'

/** @returns {Map<number, number>} processor time of the threads of worker_threads in this process by niceness, ticks */
function processorTimes() {
  const times = new Map([
    [getPriority(), 0],
    [BACKGROUND_NICENESS, 0]
  ])
  for (const task of readdirSync(TASKS)) {
    try {
      const [, name, rest = ''] =
        /\((.*)\) (.*)/s.exec(readFileSync(`${TASKS}/${task}/stat`, 'latin1')) ?? []
      const fields = rest.split(' ').map(Number)
      const [userTicks, systemTicks, nice] = [fields[11] ?? 0, fields[12] ?? 0, fields[16] ?? 0]
      if (name === 'WorkerThread') times.set(nice, (times.get(nice) ?? 0) + userTicks + systemTicks)
    } catch {
      // It ended while we looked.
    }
  }
  return times
}

/**
 * @param {import('node:test').TestContext} t
 * @param {number} count - messages
 * @returns {Promise<{ store: AccountStore, hold: () => () => void }>} `hold`: nothing more is indexed until what it gives is
 *   called
 */
async function filled(t, count) {
  const key = randomBytes(32)
  const store = await temporaryStore(t, { key: Buffer.from(key) })
  const mails = Array.from({ length: count }, (_, n) => ({
    bytes: Buffer.from(`Subject: mail ${n}\r\n\r\nwords of message number${n}x\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  const hold = () => {
    const path = mailFile(store.folder)
    const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20', isBlocking: true })
    db.exec('BEGIN IMMEDIATE')
    return () => db.close()
  }
  return { store, hold }
}

/**
 * @param {AccountStore} store
 * @param {number} count - that waited at first
 */
async function untilBegun(store, count) {
  while ((await pendingCount(store)) === count) await sleep(1)
}

test(
  'an index that a search waits for is brought up to date by a thread that has not stepped back',
  { skip: process.platform !== 'linux' && 'niceness of a thread is Linux’s' },
  async (t) => {
    const { store, hold } = await filled(t, 3000)
    const { find } = await searcher(store, 'INBOX')
    const indexing = store.indexSearch()
    await untilBegun(store, 3000)
    const letGo = hold()
    assert.deepEqual(await find({ op: 'text', value: 'number2990x' }), [2991])
    const before = processorTimes()
    letGo()
    await indexing
    const after = processorTimes()
    const spent = (/** @type {number} */ nice) => (after.get(nice) ?? 0) - (before.get(nice) ?? 0)
    const [normal, low] = [spent(getPriority()), spent(BACKGROUND_NICENESS)]
    assert.ok(normal > low, `${normal}, ${low}`)
    assert.equal(await pendingCount(store), 0)
    assert.deepEqual(await find({ op: 'text', value: 'number17x' }), [18])
    assert.deepEqual((await store.verify()).problems, [])
  }
)

test('a mailbox that is searched does not wait until others are indexed', async (t) => {
  const busy = [await filled(t, 3000), await filled(t, 3000)]
  const { store } = await filled(t, 150)
  const atWork = busy.map((each) => each.store.indexSearch())
  for (const each of busy) await untilBegun(each.store, 3000)
  // However slow this process is, they do not come to their end before the other has had its turn.
  const held = busy.map(({ hold }) => hold())
  const indexing = store.indexSearch()
  await sleep(20)
  assert.equal(await pendingCount(store), 150)
  const { find } = await searcher(store, 'INBOX')
  assert.deepEqual(await find({ op: 'text', value: 'number140x' }), [141])
  await untilBegun(store, 150)
  for (const each of busy) assert.ok((await pendingCount(each.store)) > 0)
  await indexing
  assert.equal(await pendingCount(store), 0)
  for (const letGo of held) letGo()
  await Promise.all(atWork)
})

test('what is searched again and again while it is indexed is indexed whole', async (t) => {
  const { store } = await filled(t, 1500)
  const { find } = await searcher(store, 'INBOX')
  const state = { isOver: false }
  const indexing = store.indexSearch().finally(() => (state.isOver = true))
  for (let n = 1499; !state.isOver && n > 0; n -= 7)
    assert.deepEqual(await find({ op: 'text', value: `number${n}x` }), [n + 1])
  await indexing
  assert.equal(await pendingCount(store), 0)
  assert.deepEqual((await store.verify()).problems, [])
})
