/**
 * Threads that may be ended at any moment, but for one: the whole process is aborted when a thread is ended just while it
 * loads SQLite's addon (one of some hundred that are ended when they have just begun: measured).
 *
 *     BEGUN ── the thread: runUnended ──► UNENDED ── its work is over ──► BEGUN
 *     BEGUN ── endThread ──► ENDED: the thread begins no such work any more, and ends by itself
 *
 * By itself, because `terminate` has no effect now and then while a thread loads its modules (one of some two hundred on a busy
 * machine: measured with Node 24.21): a thread that waited to be ended would wait for ever, and so would whoever ends it.
 */
import { Worker, workerData } from 'node:worker_threads'

const BEGUN = 0
const UNENDED = 1
/** Exported for the tests. */
export const ENDED = 2

/** @type {WeakMap<Worker, Int32Array>} */
const states = new WeakMap()

/**
 * @param {URL} module - run as the thread
 * @param {Omit<import('node:worker_threads').WorkerOptions, 'workerData'> & { workerData?: object }} [options]
 * @returns {Worker} to be ended by `endThread`
 */
export function startThread(module, { workerData: data, ...options } = {}) {
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const worker = new Worker(module, { ...options, workerData: { ...data, endable: state } })
  states.set(worker, state)
  // Nobody may wait for a thread that has died, whatever of.
  worker.once('exit', () => leave(state))
  return worker
}

/**
 * @param {Worker} worker - of `startThread`
 * @returns {Promise<void>} when it has ended
 */
export async function endThread(worker) {
  // Without this, a process with nothing else left to do would end while it waits below, in the middle of closing.
  worker.ref()
  const state = states.get(worker)
  if (state !== undefined) {
    while (Atomics.compareExchange(state, 0, BEGUN, ENDED) === UNENDED)
      await Atomics.waitAsync(state, 0, UNENDED).value
  }
  await worker.terminate()
}

/** Ends a thread of `startThread` if `endThread` was called for it: to be called after modules were loaded, see above. */
export function endIfAsked() {
  const state = /** @type {Int32Array | undefined} */ (workerData?.endable)
  if (state !== undefined && Atomics.load(state, 0) === ENDED) process.exit()
}

/**
 * Runs `work`, during which a thread of `startThread` is not ended. Anywhere else it simply runs `work`.
 *
 * @param {() => void} work
 */
export function runUnended(work) {
  const state = /** @type {Int32Array | undefined} */ (workerData?.endable)
  if (state === undefined) {
    work()
    return
  }
  if (Atomics.compareExchange(state, 0, BEGUN, UNENDED) === ENDED) process.exit()
  try {
    work()
  } finally {
    leave(state)
  }
}

/** @param {Int32Array} state */
function leave(state) {
  Atomics.compareExchange(state, 0, UNENDED, BEGUN)
  Atomics.notify(state, 0)
}
