import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'node:test'
import { pendingCount } from '../../../helpers/index-oracle.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

const TASKS = '/proc/self/task'

/** @returns {string[]} the threads of worker_threads in this process */
function workerThreads() {
  return readdirSync(TASKS).filter((task) => {
    try {
      return readFileSync(`${TASKS}/${task}/comm`, 'latin1').trim() === 'WorkerThread'
    } catch {
      // It ended while we looked.
      return false
    }
  })
}

const mails = (/** @type {number} */ count) =>
  Array.from({ length: count }, (_, n) => ({
    bytes: Buffer.from(`Subject: mail ${n}\r\n\r\nwords of message number ${n}\r\n`)
  }))

/**
 * @param {import('node:test').TestContext} t
 * @param {number} stores
 * @param {number} count - messages in each
 */
async function filled(t, stores, count) {
  return await Promise.all(
    Array.from({ length: stores }, async () => {
      const store = await temporaryStore(t)
      await appendAll(store, 'INBOX', mails(count))
      return store
    })
  )
}

const isUnreadable = process.platform === 'linux' ? false : 'threads are listed on Linux alone'

/**
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} threads that it started, be it one after the other
 */
async function threadsOf(work) {
  const before = new Set(workerThreads())
  /** @type {Set<string>} */
  const seen = new Set()
  const timer = setInterval(() => {
    for (const thread of workerThreads()) if (!before.has(thread)) seen.add(thread)
  }, 1)
  await work()
  clearInterval(timer)
  return seen.size
}

// The first test: threads stay a while when they have done their work, and would be taken again unseen.
test('some mail in each of many mailboxes needs no thread', { skip: isUnreadable }, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stores = await filled(t, 4, 30)
  const count = await threadsOf(() => Promise.all(stores.map((store) => store.indexSearch())))
  assert.equal(count, 0)
  for (const store of stores) assert.equal((await store.upkeep.readIndexNeeds()).waiting, 0)
})

test(
  'much mail in many mailboxes at once is indexed by the same two threads, in turn',
  { skip: isUnreadable },
  async (t) => {
    // A mailbox that waits for its turn looks idle: its checkpoint would start a thread of its own.
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const stores = await filled(t, 8, 150)
    const count = await threadsOf(() => Promise.all(stores.map((store) => store.indexSearch())))
    assert.ok(count >= 1 && count <= 2, `${count} threads`)
    for (const store of stores) assert.equal((await store.upkeep.readIndexNeeds()).waiting, 0)
  }
)

test('a store that is closed does not wait for its turn', async (t) => {
  const busy = await filled(t, 2, 2000)
  const [store] = await filled(t, 1, 150)
  assert.ok(store)
  /** @type {string[]} */
  const ended = []
  const indexing = busy.map((each) => each.indexSearch().finally(() => ended.push('busy')))
  const isAtWork = async (/** @type {typeof store} */ each) => (await pendingCount(each)) < 2000
  while (!(await Promise.all(busy.map(isAtWork))).every(Boolean)) await sleep(1)
  const waiting = store.indexSearch().then(
    () => 'not begun',
    (error) => error.code
  )
  await sleep(20)
  await store.close()
  ended.push('closed')
  assert.ok(['not begun', 'SHUTTING_DOWN'].includes(await waiting))
  await Promise.all(indexing)
  assert.deepEqual(ended, ['closed', 'busy', 'busy'])
  for (const each of busy) assert.equal((await each.upkeep.readIndexNeeds()).waiting, 0)
})
