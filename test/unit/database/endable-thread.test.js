import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { ENDED, endIfAsked, endThread, startThread } from '../../../src/database/endable-thread.js'

const run = promisify(execFile)

const API = new URL('../../../src/database/endable-thread.js', import.meta.url)

/** What is not to be ended lasts until its gate is opened; what comes after it lasts for ever. */
const THREAD = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads'
    import { runUnended } from ${JSON.stringify(API.href)}
    const { gates, marks } = workerData
    const at = (place) => Atomics.add(new Int32Array(marks), place, 1)
    Atomics.wait(new Int32Array(gates), 0, 0)
    runUnended(() => {
      at(0)
      parentPort.postMessage('unended')
      Atomics.wait(new Int32Array(gates), 1, 0)
      at(1)
    })
    Atomics.wait(new Int32Array(gates), 2, 0)
    at(2)
  `)}`
)

function setUp() {
  const gates = new SharedArrayBuffer(12)
  const marks = new SharedArrayBuffer(12)
  const open = (/** @type {number} */ place) => {
    Atomics.store(new Int32Array(gates), place, 1)
    Atomics.notify(new Int32Array(gates), place)
  }
  const worker = startThread(THREAD, { workerData: { gates, marks } })
  return { worker, open, marks: () => [...new Int32Array(marks)] }
}

test('a thread is ended at once, but not in the midst of what must not be ended', async () => {
  const { worker, open, marks } = setUp()
  open(0)
  await once(worker, 'message')
  let hasEnded = false
  const ending = endThread(worker).then(() => {
    hasEnded = true
  })
  for (let turn = 0; turn < 100; turn++) await setImmediate()
  assert.equal(hasEnded, false)
  open(1)
  await ending
  assert.deepEqual(marks(), [1, 1, 0])
})

test('a thread that is being ended begins nothing that must not be ended', async () => {
  const { worker, open, marks } = setUp()
  const ending = endThread(worker)
  open(0)
  open(1)
  await ending
  assert.deepEqual(marks(), [0, 0, 0])
})

test('a thread that is being ended goes by itself: the end from outside may get lost', async () => {
  for (const next of ['runUnended(() => fail())', 'endIfAsked(); fail()']) {
    const endable = new Int32Array(new SharedArrayBuffer(4)).fill(ENDED)
    const module = `
      import { endIfAsked, runUnended } from ${JSON.stringify(API.href)}
      const fail = () => { throw new Error('it was to begin nothing') }
      ${next}
    `
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(module)}`), {
      workerData: { endable }
    })
    while (worker.threadId !== -1) {
      assert.equal(Atomics.notify(endable, 0), 0, 'it waits for somebody')
      await setImmediate()
    }
  }
})

test('a thread that is not being ended goes on, and so does a process', async () => {
  const module = `
    import { parentPort } from 'node:worker_threads'
    import { endIfAsked } from ${JSON.stringify(API.href)}
    endIfAsked()
    parentPort.postMessage('goes on')
  `
  const worker = startThread(new URL(`data:text/javascript,${encodeURIComponent(module)}`))
  assert.deepEqual(await once(worker, 'message'), ['goes on'])
  endIfAsked()
})

test('a thread that has died in the midst of it is not waited for', async () => {
  const dying = `
    import { runUnended } from ${JSON.stringify(API.href)}
    runUnended(() => process.exit(3))
  `
  const worker = startThread(new URL(`data:text/javascript,${encodeURIComponent(dying)}`))
  worker.on('error', () => {})
  await endThread(worker)
})

test('a process that ends a thread which keeps none alive waits for it, also in the midst of what must not be ended', async () => {
  // Whoever opens the gate keeps no process alive either.
  const program = `
    import { once } from 'node:events'
    import { endThread, startThread } from ${JSON.stringify(API.href)}
    const gates = new SharedArrayBuffer(12)
    const open = (place) => {
      Atomics.store(new Int32Array(gates), place, 1)
      Atomics.notify(new Int32Array(gates), place)
    }
    const workerData = { gates, marks: new SharedArrayBuffer(12) }
    const worker = startThread(new URL(${JSON.stringify(THREAD.href)}), { workerData })
    open(0)
    await once(worker, 'message')
    worker.unref()
    setTimeout(() => open(1), 50).unref()
    await endThread(worker)
    process.stdout.write('ended')
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(stdout, 'ended')
})
