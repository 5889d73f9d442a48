/**
 * Those who write for a client go before the threads that look after the file. SQLite's lock knows no order: a thread
 * with one short transaction after the other would take it again and again while the event loop, which must not wait
 * inside SQLite, looks in now and then and finds it taken.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** While somebody else writes, a thread waits for a pause of so many ms … */
const QUIET_MS = 15

/** … but for at most so many ms: mail that never stops coming must be indexed, too. */
const MAX_WAIT_MS = 300

/** Places in the shared numbers: how many writes have begun, and how many wait for the lock. */
const BEGUN = 0
const WAITING = 1

/** Tells the threads of an open file when its own connection writes. */
export class Writers {
  /** The shared numbers, for the threads. */
  shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  #numbers = new Int32Array(this.shared)

  /** To be called before a write asks for the lock. */
  noteBegun() {
    Atomics.add(this.#numbers, BEGUN, 1)
  }

  /**
   * Has threads wait for a write that finds the lock taken, until it is through or has given up.
   *
   * @template T
   * @param {(onBusy: () => void) => Promise<T>} write - calls `onBusy` when it has asked for the lock in vain, as often as
   *   it likes
   * @returns {Promise<T>}
   */
  async watch(write) {
    let isWaiting = false
    const onBusy = () => {
      if (!isWaiting) Atomics.add(this.#numbers, WAITING, 1)
      isWaiting = true
    }
    try {
      return await write(onBusy)
    } finally {
      if (isWaiting) Atomics.sub(this.#numbers, WAITING, 1)
    }
  }
}

/**
 * Waits until writers had their turn: to be called by a thread before each of its transactions.
 *
 * @param {SharedArrayBuffer} shared - of `Writers`
 * @returns {Promise<void>} when it is its turn
 */
export async function letWritersGo(shared) {
  const numbers = new Int32Array(shared)
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += QUIET_MS) {
    const before = Atomics.load(numbers, BEGUN)
    // The first sleep is short: when nobody writes, the count has not moved since the transaction before.
    await sleep(waitedMs === 0 ? 1 : QUIET_MS)
    if (Atomics.load(numbers, WAITING) === 0 && Atomics.load(numbers, BEGUN) === before) return
  }
}
