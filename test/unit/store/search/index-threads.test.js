import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'node:test'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

const TASKS = '/proc/self/task'

/** @returns {number} threads of worker_threads in this process */
function workerThreads() {
  const names = readdirSync(TASKS).map((task) => {
    try {
      return readFileSync(`${TASKS}/${task}/comm`, 'latin1').trim()
    } catch {
      // It ended while we looked.
      return ''
    }
  })
  return names.filter((name) => name === 'WorkerThread').length
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
 * @returns {Promise<number>} threads that it had at once, at most
 */
async function mostThreads(work) {
  const before = workerThreads()
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, workerThreads() - before)
  }, 1)
  await work()
  clearInterval(timer)
  return most
}

test(
  'much mail in many mailboxes at once is indexed by two threads, in turn',
  { skip: isUnreadable },
  async (t) => {
    const stores = await filled(t, 8, 150)
    const most = await mostThreads(() => Promise.all(stores.map((store) => store.indexSearch())))
    assert.ok(most >= 1 && most <= 2, `${most} threads`)
    for (const store of stores) assert.equal((await store.upkeep.readIndexNeeds()).waiting, 0)
  }
)

test('some mail in each of many mailboxes needs no thread', { skip: isUnreadable }, async (t) => {
  const stores = await filled(t, 4, 60)
  const most = await mostThreads(() => Promise.all(stores.map((store) => store.indexSearch())))
  assert.equal(most, 0)
  for (const store of stores) assert.equal((await store.upkeep.readIndexNeeds()).waiting, 0)
})

test('a store that is closed does not wait for its turn', { skip: isUnreadable }, async (t) => {
  const stores = await filled(t, 5, 150)
  const before = workerThreads()
  const indexing = stores.map((store) => store.indexSearch())
  while (workerThreads() === before) await sleep(1)
  const last = indexing.pop()
  const ended = assert.rejects(async () => await last, { code: 'SHUTTING_DOWN' })
  await stores.pop()?.close()
  await ended
  await Promise.all(indexing)
  for (const store of stores) assert.equal((await store.upkeep.readIndexNeeds()).waiting, 0)
})
