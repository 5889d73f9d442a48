/**
 * Threads that may be ended at any moment, but for one: the whole process is aborted when a thread is ended just while it
 * loads SQLite's addon (one of some hundred that are ended when they have just begun: measured).
 *
 *     BEGUN ── the thread: runUnended ──► UNENDED ── its work is over ──► BEGUN
 *     BEGUN ── endThread ──► ENDED: the thread begins no such work any more, and ends by itself
 *
 * By itself, because an end from outside gets lost now and then while a thread loads its modules (one of some two hundred on
 * a busy machine: measured with Node 24.21): a thread that waited for it would wait for ever, and whoever ends it as well.
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
  // Whatever it has died of, it is not waited for.
  worker.once('exit', () => leave(state))
  return worker
}

/**
 * @param {Worker} worker - of `startThread`
 * @returns {Promise<void>} when it has ended
 */
export async function endThread(worker) {
  // Else a process that has nothing else left to do would end while it waits below, amid whatever it was closing.
  worker.ref()
  const state = states.get(worker)
  if (state !== undefined) {
    while (Atomics.compareExchange(state, 0, BEGUN, ENDED) === UNENDED)
      await Atomics.waitAsync(state, 0, UNENDED).value
  }
  await worker.terminate()
}

/** For a thread of `startThread`, when it has loaded modules: an end that has got lost meanwhile is made up for. */
export function endIfAsked() {
  const state = /** @type {Int32Array | undefined} */ (workerData?.endable)
  if (state !== undefined && Atomics.load(state, 0) === ENDED) process.exit()
}

/**
 * For a thread of `startThread`: does something in the midst of which it is not ended. Elsewhere it is simply done.
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
