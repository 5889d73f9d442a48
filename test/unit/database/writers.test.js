import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3-multiple-ciphers'
import { retryWhileBusy, runTransaction } from '../../../src/database/transaction.js'
import { Writers, letWritersGo } from '../../../src/database/writers.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/**
 * @param {Promise<void>} turn
 * @returns {() => boolean} whether it has come
 */
function watch(turn) {
  let hasCome = false
  turn.then(() => {
    hasCome = true
  })
  return () => hasCome
}

/**
 * @param {Writers} writers
 * @returns {() => Promise<void>} ends a write that finds the lock taken
 */
function waitingWrite(writers) {
  const { promise, resolve } = /** @type {PromiseWithResolvers<void>} */ (Promise.withResolvers())
  const written = writers.watch((onBusy) => {
    onBusy()
    onBusy()
    return promise
  })
  return () => {
    resolve()
    return written
  }
}

test('a thread goes when nobody writes, and waits while somebody cannot', async () => {
  const writers = new Writers()
  await letWritersGo(writers.shared)
  const endWrite = waitingWrite(writers)
  const turn = letWritersGo(writers.shared)
  const hasCome = watch(turn)
  await sleep(60)
  assert.equal(hasCome(), false)
  await endWrite()
  await turn
})

test('who was waited for and is through is waited for no longer', async () => {
  const [through, waiting] = [new Writers(), new Writers()]
  await through.watch(async () => {})
  await waitingWrite(through)()
  waitingWrite(waiting)
  const first = await Promise.race([
    letWritersGo(waiting.shared).then(() => 'who waits as long as it may'),
    letWritersGo(through.shared).then(() => 'who need not wait')
  ])
  assert.equal(first, 'who need not wait')
})

test('a thread waits for a pause in what is written', async () => {
  const writers = new Writers()
  const turn = letWritersGo(writers.shared)
  const hasCome = watch(turn)
  for (const start = performance.now(); performance.now() - start < 60;) {
    writers.noteBegun()
    await setImmediate()
  }
  assert.equal(hasCome(), false)
  await turn
})

test('a thread has its turn some time, whatever others do', async () => {
  const writers = new Writers()
  waitingWrite(writers)
  await letWritersGo(writers.shared)
  const busy = setInterval(() => writers.noteBegun(), 1)
  await letWritersGo(writers.shared)
  clearInterval(busy)
})

/** Takes the lock again and again for 10 ms, and counts how often. */
const GREEDY = `
  import { parentPort, workerData } from 'node:worker_threads'
  const { default: Database } = await import(workerData.binding)
  const { letWritersGo } = await import(workerData.writersModule)
  const db = new Database(workerData.path)
  const turns = new Int32Array(workerData.turns)
  for (;;) {
    await letWritersGo(workerData.writers)
    db.exec('BEGIN IMMEDIATE')
    Atomics.add(turns, 0, 1)
    for (const start = performance.now(); performance.now() - start < 10;);
    db.exec('COMMIT')
    if (Atomics.load(turns, 0) === 1) parentPort.postMessage('begun')
  }`

test('who finds the lock taken has it after the transaction that holds it', async (t) => {
  const path = `${await scratchFolder(t)}/greedy.db`
  const db = new Database(path, { timeout: 0 })
  t.after(() => db.close())
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE t (n)')
  const writers = new Writers()
  const shared = new SharedArrayBuffer(4)
  const turns = new Int32Array(shared)
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(GREEDY)}`), {
    workerData: {
      path,
      turns: shared,
      writers: writers.shared,
      binding: import.meta.resolve('better-sqlite3-multiple-ciphers'),
      writersModule: import.meta.resolve('../../../src/database/writers.js')
    }
  })
  t.after(() => worker.terminate())
  await new Promise((resolve) => worker.once('message', resolve))
  for (let write = 0; write < 20; write++) {
    await sleep(7)
    writers.noteBegun()
    await writers.watch(async (onBusy) => {
      /** @type {number | null} */
      let turnsBefore = null
      let startedMs = 0
      await retryWhileBusy(() => runTransaction(db, () => db.exec('INSERT INTO t VALUES (1)')), {
        busyTimeoutMs: 60_000,
        onBusy() {
          onBusy()
          if (turnsBefore !== null) return
          turnsBefore = Atomics.load(turns, 0)
          startedMs = performance.now()
        }
      })
      if (turnsBefore === null) return
      const taken = Atomics.load(turns, 0) - turnsBefore
      const waitedMs = performance.now() - startedMs
      // One may have looked just before it was told; and none waits for longer than 300 ms.
      const allowed = 1 + Math.floor(waitedMs / 300)
      assert.ok(taken <= allowed, `${taken} turns of the thread in ${waitedMs} ms of a write`)
    })
  }
})
