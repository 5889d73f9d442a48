/**
 * kill -9 of VACUUM, of the worker in the midst of its jobs, of compaction and of repair, at random moments: nothing is
 * lost, and the next run does what is left.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lockExclusive } from '../../src/database/lock.js'
import { openAccountStore, createAccountStore } from '../../src/store/account-store.js'
import { runFileJob } from '../../src/store/file-work.js'
import { removeLeftCopy } from '../../src/database/rewrite.js'
import { systemClock } from '../../src/support/clock.js'
import {
  aliveUids,
  appendOne,
  readBytes,
  scratchFolder,
  sweepAll
} from '../helpers/account-folder.js'

/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */

const ROUNDS = process.env['LETTERLOCK_TEST_TORTURE'] ? 200 : 10
const KEY = Buffer.alloc(32, 7)
const WORKER = fileURLToPath(new URL('../helpers/maintenance-loop.js', import.meta.url))

/** @param {string} folder */
const openStore = (folder) => openAccountStore({ folder, key: KEY, clock: systemClock })

/**
 * @param {number} pid
 * @param {number} afterMs
 * @returns {Promise<void>} when it has been killed
 */
async function killLater(pid, afterMs) {
  await sleep(afterMs)
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // It has come to its end before.
    assert.equal(/** @type {NodeJS.ErrnoException} */ (error).code, 'ESRCH')
  }
}

/**
 * A child waits for its next job: a kill that comes too late for one meets the next.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function untilNotKilled(work) {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code !== 'BUSY') throw error
    }
  }
}

/**
 * A mailbox that is to be kept, and one that is filled and emptied in each round.
 *
 * @param {import('node:test').TestContext} t
 */
async function setUp(t) {
  const folder = join(await scratchFolder(t), 'account')
  const store = await createAccountStore({ folder, key: KEY, clock: systemClock })
  for (let i = 0; i < 20; i++) await appendOne(store, 'INBOX', message(`kept ${i}`, 60_000))
  const kept = await contentsOf(store, 'INBOX')
  await store.close()
  return { folder, kept }
}

/**
 * @param {string} subject
 * @param {number} bytes
 */
const message = (subject, bytes) =>
  Buffer.concat([
    Buffer.from(`Subject: ${subject}\r\nContent-Type: application/octet-stream\r\n\r\n`),
    randomBytes(bytes)
  ])

/**
 * @param {AccountStore} store
 * @param {string} name
 * @returns {Promise<[number, string][]>}
 */
async function contentsOf(store, name) {
  const { view } = await store.openView(name)
  /** @type {[number, string][]} */
  const all = []
  for (const uid of aliveUids(view))
    all.push([uid, (await readBytes(store, view, uid)).toString('base64')])
  store.closeView(view)
  return all
}

/**
 * Leaves free pages behind.
 *
 * @param {AccountStore} store
 */
async function makeHoles(store) {
  for (let i = 0; i < 8; i++)
    await appendOne(store, 'Junk', message(`gone ${i}`, 150_000), ['\\Deleted'])
  const { view } = await store.openView('Junk')
  await store.expunge({ view, uids: null })
  store.closeView(view)
}

test(`kill -9 of VACUUM, ${ROUNDS} times: the mailbox is whole, and a later one gives the space back`, async (t) => {
  const { folder, kept } = await setUp(t)
  const store = await openStore(folder)
  let takesMs = 0
  // The first one has its child started as well.
  for (let round = 0; round < 2; round++) {
    await makeHoles(store)
    await sweepAll(store)
    const startedMs = performance.now()
    await store.upkeep.vacuum()
    takesMs = performance.now() - startedMs
  }
  let killed = 0
  for (let round = 0; round < ROUNDS; round++) {
    await makeHoles(store)
    await sweepAll(store)
    /** @type {Promise<void>} */
    let killing = Promise.resolve()
    const outcome = store.upkeep
      .vacuum({
        onStart: (pid) => {
          killing = killLater(pid, Math.random() * takesMs * 1.2)
        }
      })
      .then(
        ({ isDone }) => isDone,
        (error) => {
          assert.equal(error.code, 'BUSY')
          return false
        }
      )
    if (!(await outcome)) killed++
    await killing
    assert.deepEqual(await untilNotKilled(() => store.upkeep.quickCheck()), [])
  }
  t.diagnostic(`${killed} of ${ROUNDS} were killed in time`)
  assert.deepEqual(await contentsOf(store, 'INBOX'), kept)
  // The store's own work in the background is a writer as well, and gives pages back.
  let freePages = 0
  for (let tries = 0; tries === 0 || (freePages > 0 && tries < 5); tries++) {
    while (!(await untilNotKilled(() => store.upkeep.vacuum())).isDone);
    ;({ freePages } = await store.upkeep.readSpace())
  }
  assert.equal(freePages, 0)
  assert.deepEqual((await store.verify()).problems, [])
  await store.close()
})

test(`kill -9 of the process that runs the jobs, ${ROUNDS} times: nothing is lost, the next run heals`, async (t) => {
  const { folder, kept } = await setUp(t)
  for (let round = 0; round < ROUNDS; round++) {
    const worker = fork(WORKER, [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const exited = once(worker, 'exit')
    await once(worker, 'message')
    await sleep((round * 97) % 500)
    worker.kill('SIGKILL')
    await exited
    const store = await openStore(folder)
    assert.deepEqual(await contentsOf(store, 'INBOX'), kept, `round ${round}`)
    await store.close()
  }
  const store = await openStore(folder)
  await sweepAll(store)
  await store.indexSearch()
  await store.upkeep.releasePages()
  await store.checkpoint()
  assert.deepEqual((await store.verify()).problems, [])
  assert.equal((await store.upkeep.readSpace()).freePages, 0)
  await store.close()
  // A child of a killed process goes with it: nobody holds the mailbox.
  const lock = await lockExclusive(folder, { timeoutMs: 5000 })
  lock.release()
})

test(`kill -9 of a compaction, ${ROUNDS} times: the file is the old one or the new one, whole`, async (t) => {
  const { folder, kept } = await setUp(t)
  const path = join(folder, 'mail.db')
  const job = /** @type {const} */ ({
    kind: 'compact',
    folder,
    cipher: 'chacha20',
    timeoutMs: 5000
  })
  for (let round = 0; round < ROUNDS; round++) {
    const store = await openStore(folder)
    if (round % 3 === 0) await makeHoles(store)
    await store.close()
    await runFileJob(job, {
      key: KEY,
      onStart: (pid) => killLater(pid, (round * 41) % 300)
    }).catch((error) => assert.match(error.code, /BUSY|SHUTTING_DOWN/))
  }
  await runFileJob(job, { key: KEY })
  assert.equal(await removeLeftCopy(path), false)
  const store = await openStore(folder)
  assert.deepEqual(await contentsOf(store, 'INBOX'), kept)
  assert.deepEqual((await store.verify()).problems, [])
  await store.close()
  assert.ok(statSync(path).size > 0)
})
