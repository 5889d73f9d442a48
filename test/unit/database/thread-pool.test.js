import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ThreadPool } from '../../../src/database/thread-pool.js'

/** @import { Worker } from 'node:worker_threads' */
/** @typedef {{ threadId: number, jobs: number, name: unknown }} Answer */

/** The number of a thread that is there no more. */
const HAS_ENDED = -1

/** A thread that does what it is told, and says who it is. */
const THREAD = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId, workerData } from 'node:worker_threads'
    let jobs = 0
    parentPort.on('message', ({ kind, gate, end }) => {
      jobs++
      if (kind === 'throw') throw new Error('thread is broken')
      if (kind === 'exit') process.exit(3)
      if (kind === 'fail')
        return parentPort.postMessage({ kind: 'failed', failure: { code: 'DISK_FULL', detail: 'sda1' } })
      parentPort.postMessage({ kind: 'progress', value: jobs })
      if (gate) Atomics.wait(new Int32Array(gate), 0, 0)
      parentPort.postMessage({ kind: 'done', value: { threadId, jobs, name: workerData.name } })
      if (end) {
        const words = new Int32Array(end)
        Atomics.store(words, 1, 1)
        Atomics.notify(words, 1)
        Atomics.wait(words, 0, 0)
        process.exit(3)
      }
    })
  `)}`
)

/**
 * @param {ThreadPool} pool
 * @param {object} [data]
 * @returns {Promise<Answer>}
 */
const ask = async (pool, data = {}) => /** @type {Answer} */ (await pool.run({ data }))

/** @returns {{ gate: SharedArrayBuffer, open: () => void }} what holds a thread up */
function makeGate() {
  const gate = new SharedArrayBuffer(8)
  const open = () => {
    Atomics.store(new Int32Array(gate), 0, 1)
    Atomics.notify(new Int32Array(gate), 0)
  }
  return { gate, open }
}

test('jobs that come one after the other are done by one thread, those at once by several', async () => {
  const pool = new ThreadPool(THREAD, { workerData: { name: 'settings' } })
  const first = await ask(pool)
  assert.deepEqual([first.jobs, first.name], [1, 'settings'])
  assert.deepEqual(await ask(pool), { ...first, jobs: 2 })
  const gates = [makeGate(), makeGate(), makeGate()]
  const running = gates.map(({ gate }) => ask(pool, { gate }))
  for (const { open } of gates) open()
  const answers = await Promise.all(running)
  assert.equal(new Set(answers.map(({ threadId }) => threadId)).size, 3)
  assert.ok(answers.some(({ threadId }) => threadId === first.threadId))
})

test('where no more threads may be at work, a job waits, in its turn', async () => {
  const pool = new ThreadPool(THREAD, { maxThreads: 2 })
  const gates = [1, 2, 3, 4].map(() => makeGate())
  /** @type {number[]} */
  const begun = []
  const running = gates.map(({ gate }, job) =>
    pool.run({ data: { gate }, onProgress: () => begun.push(job) })
  )
  while (begun.length < 2) await setImmediate()
  gates[0]?.open()
  await running[0]
  while (begun.length < 3) await setImmediate()
  assert.deepEqual(begun.toSorted(), [0, 1, 2])
  for (const { open } of gates) open()
  const answers = /** @type {Answer[]} */ (await Promise.all(running))
  assert.equal(new Set(answers.map(({ threadId }) => threadId)).size, 2)
})

test('a job that is ended while it waits is told so at once, and the next one has its place', async () => {
  const pool = new ThreadPool(THREAD, { maxThreads: 1 })
  const { gate, open } = makeGate()
  const abort = new AbortController()
  const first = await new Promise((resolve) => {
    const running = pool.run({ data: { gate }, onProgress: () => resolve({ running }) })
  })
  const second = pool.run({
    data: {},
    signal: abort.signal,
    onProgress: () => assert.fail('it was ended')
  })
  const third = ask(pool)
  abort.abort()
  await assert.rejects(second, { code: 'SHUTTING_DOWN' })
  open()
  await first.running
  assert.equal((await third).jobs, 2)
})

test('of many threads only three wait for more, and after some time none', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  /** @type {Worker[]} */
  const workers = []
  const onWorker = (/** @type {Worker} */ worker) => workers.push(worker)
  process.on('worker', onWorker)
  t.after(() => process.off('worker', onWorker))
  const living = () => workers.filter(({ threadId }) => threadId !== HAS_ENDED).length
  const pool = new ThreadPool(THREAD, { idleMs: 50 })
  const gates = [1, 2, 3, 4, 5].map(() => makeGate())
  const running = gates.map(({ gate }) => ask(pool, { gate }))
  for (const { open } of gates) open()
  const used = (await Promise.all(running)).map(({ threadId }) => threadId)
  const again = await Promise.all([ask(pool), ask(pool), ask(pool), ask(pool)])
  assert.equal(again.filter(({ threadId }) => used.includes(threadId)).length, 3)
  while (living() > 3) await setImmediate()
  t.mock.timers.tick(50)
  while (living() > 0) await setImmediate()
  const late = await ask(pool)
  assert.equal(late.jobs, 1)
})

test('one that is kept waits for as long as it takes, beside others that do not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const pool = new ThreadPool(THREAD, { idleMs: 50, keptThreads: 1 })
  const gates = [makeGate(), makeGate()]
  const running = gates.map(({ gate }) => ask(pool, { gate }))
  for (const { open } of gates) open()
  const used = (await Promise.all(running)).map(({ threadId }) => threadId)
  t.mock.timers.tick(50)
  t.mock.timers.tick(5000)
  const [kept, another] = await Promise.all([ask(pool), ask(pool)])
  assert.deepEqual([used.includes(kept.threadId), kept.jobs], [true, 2])
  assert.equal(another.jobs, 1)
})

test('one that is kept is there before the first job, and ends when it is told to', async () => {
  const pool = new ThreadPool(THREAD, { keptThreads: 1 })
  const before = (await ask(pool)).threadId
  await pool.endIdle()
  pool.prepare()
  pool.prepare()
  const [prepared, another] = await Promise.all([ask(pool), ask(pool)])
  // Threads are numbered as they start.
  assert.deepEqual([prepared.threadId, another.threadId], [before + 1, before + 2])
  await pool.endIdle()
  assert.equal((await ask(pool)).threadId, before + 3)
})

test('one that has died while it waited is not one of those that are kept', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const pool = new ThreadPool(THREAD, { idleMs: 50, keptThreads: 1 })
  const starts = /** @type {Promise<[Worker]>} */ (once(process, 'worker'))
  const [end, work] = [makeGate(), makeGate()]
  const dying = ask(pool, { end: end.gate })
  const staying = ask(pool, { gate: work.gate })
  const { threadId } = await dying
  t.mock.timers.tick(50)
  end.open()
  await once((await starts)[0], 'exit')
  work.open()
  const kept = await staying
  t.mock.timers.tick(50)
  assert.notEqual(kept.threadId, threadId)
  assert.deepEqual(await ask(pool), { ...kept, jobs: 2 })
})

test('one that has died while it waited gets no job', async () => {
  const pool = new ThreadPool(THREAD)
  const starts = /** @type {Promise<[Worker]>} */ (once(process, 'worker'))
  const { gate, open } = makeGate()
  const { threadId } = await ask(pool, { end: gate })
  open()
  await once((await starts)[0], 'exit')
  assert.notEqual((await ask(pool)).threadId, threadId)
})

test('progress is told to whoever asked for the job, and to nobody else', async () => {
  const pool = new ThreadPool(THREAD)
  /** @type {unknown[]} */
  const told = []
  for (const name of ['one', 'two'])
    await pool.run({ data: {}, onProgress: (value) => told.push([name, value]) })
  assert.deepEqual(told, [
    ['one', 1],
    ['two', 2]
  ])
})

test('a job that fails leaves its thread to the next one', async () => {
  const pool = new ThreadPool(THREAD)
  const { threadId } = await ask(pool)
  await assert.rejects(pool.run({ data: { kind: 'fail' } }), { code: 'DISK_FULL', detail: 'sda1' })
  assert.deepEqual((await ask(pool)).threadId, threadId)
})

for (const [kind, message] of /** @type {const} */ ([
  ['throw', /thread is broken/],
  ['exit', /ended before its job was done/]
]))
  test(`a thread that dies (${kind}) fails its own job, and the next one has another`, async () => {
    const pool = new ThreadPool(THREAD)
    const { threadId } = await ask(pool)
    await assert.rejects(pool.run({ data: { kind } }), message)
    assert.notEqual((await ask(pool)).threadId, threadId)
  })

test('a signal ends the thread in the middle of its job', async () => {
  const pool = new ThreadPool(THREAD)
  const starts = /** @type {Promise<[Worker]>} */ (once(process, 'worker'))
  const { threadId } = await ask(pool)
  const stop = new AbortController()
  const { gate } = makeGate()
  const job = pool.run({ data: { gate }, signal: stop.signal, onProgress: () => stop.abort() })
  await assert.rejects(job, { code: 'SHUTTING_DOWN' })
  assert.equal((await starts)[0].threadId, HAS_ENDED)
  await assert.rejects(pool.run({ data: {}, signal: stop.signal }), { code: 'SHUTTING_DOWN' })
  const next = await ask(pool)
  assert.deepEqual([next.jobs, next.threadId === threadId], [1, false])
})

test('a job that is done just as a signal ends it is over once its thread has ended, which gets no other', async () => {
  const pool = new ThreadPool(THREAD)
  const starts = /** @type {Promise<[Worker]>} */ (once(process, 'worker'))
  const stop = new AbortController()
  const { gate } = makeGate()
  const onProgress = () => {
    // By then the thread has said that it is done, and nobody has heard it.
    Atomics.wait(new Int32Array(gate), 1, 0)
    stop.abort()
  }
  const job = pool.run({ data: { end: gate }, signal: stop.signal, onProgress })
  const { threadId } = /** @type {Answer} */ (await job)
  assert.equal((await starts)[0].threadId, HAS_ENDED)
  assert.notEqual((await ask(pool)).threadId, threadId)
})

test('a signal that comes when the job is done ends nobody else', async () => {
  const pool = new ThreadPool(THREAD)
  const stop = new AbortController()
  const { threadId } = /** @type {Answer} */ (await pool.run({ data: {}, signal: stop.signal }))
  const { gate, open } = makeGate()
  const next = ask(pool, { gate })
  stop.abort()
  open()
  assert.deepEqual(await next, { threadId, jobs: 2, name: undefined })
})

test('threads that wait keep no process alive', async () => {
  const module = new URL('../../../src/database/thread-pool.js', import.meta.url)
  const program = `
    import { ThreadPool } from ${JSON.stringify(module.href)}
    const pool = new ThreadPool(new URL(${JSON.stringify(THREAD.href)}), { idleMs: 3_600_000 })
    await pool.run({ data: {} })
    process.stdout.write('done')
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
})
