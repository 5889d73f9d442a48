/**
 * How the threads that look after a mailbox make room for its user, and how they are told to end.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** While somebody else writes, a slice waits for a pause this long, milliseconds … */
const QUIET_MS = 15

/** … but not longer than this. */
const MAX_WAIT_MS = 300

/** Places in the shared numbers: writes of the store so far, and whether to stop. */
const WRITES = 0
const STOP = 1

/**
 * @param {SharedArrayBuffer} shared - of `Pace`
 * @returns {boolean} whether the thread should end after the slice that is done
 */
export const isToldToStop = (shared) => Atomics.load(new Int32Array(shared), STOP) !== 0

/**
 * Lets the store's own writes go first: clients wait for them.
 *
 * @param {SharedArrayBuffer} shared - of `Pace`
 */
export async function waitForPause(shared) {
  const numbers = new Int32Array(shared)
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += QUIET_MS) {
    const before = Atomics.load(numbers, WRITES)
    // A first look costs nothing when nobody writes: the count has not moved since the slice before.
    await sleep(waitedMs === 0 ? 1 : QUIET_MS)
    if (Atomics.load(numbers, WRITES) === before) return
  }
}

/** The store's side: tells the thread of writes, and of the end. */
export class Pace {
  /** For the thread. */
  shared = new SharedArrayBuffer(8)
  #numbers = new Int32Array(this.shared)
  #ends

  /**
   * @param {import('../account-database.js').AccountDatabase} database
   * @param {AbortSignal} [signal] - stops the thread, as closing the file does
   */
  constructor(database, signal) {
    const stop = () => this.stop()
    const signals = signal ? [signal, database.closing] : [database.closing]
    if (signals.some(({ aborted }) => aborted)) stop()
    for (const one of signals) one.addEventListener('abort', stop, { once: true })
    const unwatch = database.onWrite(() => Atomics.add(this.#numbers, WRITES, 1))
    this.#ends = [unwatch, ...signals.map((one) => () => one.removeEventListener('abort', stop))]
  }

  /** Ends the thread after the slice that is under way. */
  stop() {
    Atomics.store(this.#numbers, STOP, 1)
  }

  /** To be called when the thread has ended. */
  end() {
    for (const end of this.#ends) end()
  }
}
