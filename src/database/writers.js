/**
 * Those who write for a client go before the threads that look after the file. SQLite's lock knows no order: a thread
 * with one short transaction after the other would take it again and again while the event loop, which must not wait
 * inside SQLite, looks in now and then and finds it taken.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** While somebody else writes, a thread waits for a pause this long, milliseconds … */
const QUIET_MS = 15

/** … but not longer than this: of mail that never ends something must be indexed, too. */
const MAX_WAIT_MS = 300

/** Places in the shared numbers: writes so far, and those that the lock was not free for. */
const BEGUN = 0
const WAITING = 1

/** Of an open file: what its threads see of its own connection's writes. */
export class Writers {
  /** For the threads. */
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
 * For a thread, before each of its transactions.
 *
 * @param {SharedArrayBuffer} shared - of `Writers`
 * @returns {Promise<void>} when it is its turn
 */
export async function letWritersGo(shared) {
  const numbers = new Int32Array(shared)
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += QUIET_MS) {
    const before = Atomics.load(numbers, BEGUN)
    // A first look costs nothing when nobody writes: the count has not moved since the transaction before.
    await sleep(waitedMs === 0 ? 1 : QUIET_MS)
    if (Atomics.load(numbers, WAITING) === 0 && Atomics.load(numbers, BEGUN) === before) return
  }
}
