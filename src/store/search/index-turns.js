/**
 * When a mailbox has a thread for its index. Mail that comes to a thousand mailboxes at once must not start a thousand
 * threads: they take turns, at low priority. On a busy machine that is little, and a search that finds its messages not
 * indexed yet reads them all; so the mailbox that is searched has its turn before the others, at normal priority.
 */
import PQueue from 'p-queue'
import { asOnlyIndexer } from './only-indexer.js'

/** @import { StoreThreads } from '../store-threads.js' */
/** @import { IndexTurn } from './index-job.js' */

/** Two, so that a large import does not keep all others waiting. What waits gathers more mail for one start. */
const turns = new PQueue({ concurrency: 2 })

/** One: those who search and those who do not should have the other processors. */
const urgentTurns = new PQueue({ concurrency: 1 })

/** How many mailboxes wait for a turn, for the threads to see. */
const waiting = new SharedArrayBuffer(4)
const noteWaiting = () => Atomics.store(new Int32Array(waiting), 0, turns.size)

/** Of one open mailbox. */
export class IndexTurns {
  #folder
  #threads
  #settle
  /** Not 0 when a search waits that no turn has begun for. */
  #wish = new SharedArrayBuffer(4)
  #wished = new Int32Array(this.#wish)
  /** @type {AbortController | null} gives up the place among those who wait; null when it is not one of them */
  #leave = null
  /** Contents that are indexed, and not merged yet. */
  #newContents = 0
  /** @type {Promise<void>} */
  #settling = Promise.resolve()

  /**
   * @param {object} options
   * @param {string} options.folder - the account's
   * @param {Pick<StoreThreads, 'run'>} options.threads
   * @param {() => Promise<void>} options.settle - makes durable what a thread has committed
   */
  constructor({ folder, threads, settle }) {
    this.#folder = folder
    this.#threads = threads
    this.#settle = settle
  }

  /** To be called when a search has had to read texts: the turn that runs or waits is followed by an urgent one. */
  want() {
    Atomics.store(this.#wished, 0, 1)
    this.#leave?.abort()
  }

  /**
   * Takes in all that is on the list now, in as many turns as it needs.
   *
   * @param {AbortSignal} signal - ends it
   * @returns {Promise<boolean>} false: texts are indexed, merging is left for a time when others do not wait
   * @throws {import('../../errors.js').MailError} as `StoreThreads.run`; BUSY where another process is at it
   */
  async run(signal) {
    /** @type {IndexTurn['left']} */
    let left
    do {
      const isUrgent = Atomics.exchange(this.#wished, 0, 0) !== 0
      left = await this.#takeTurn(isUrgent, signal)
    } while (left === 'texts' || left === 'parts')
    await this.#settling
    return left === 'nothing'
  }

  /**
   * @param {boolean} isUrgent
   * @param {AbortSignal} signal
   * @returns {Promise<IndexTurn['left']>}
   */
  async #takeTurn(isUrgent, signal) {
    const onProgress = () => {
      this.#settling = this.#settle()
    }
    const request = { isUrgent, newContents: this.#newContents, wish: this.#wish, waiting }
    /** @type {Promise<unknown> | null} */
    let work = null
    const leave = new AbortController()
    const begin = () => {
      this.#leave = null
      noteWaiting()
      // The lock is not held while the turn waits: thousands of mailboxes may wait.
      work = asOnlyIndexer(this.#folder, () =>
        this.#threads.run({ kind: 'index', request }, { onProgress, signal, isUrgent })
      )
      return work
    }
    if (!isUrgent) this.#leave = leave
    try {
      const queue = isUrgent ? urgentTurns : turns
      const turn = queue.add(begin, { signal: AbortSignal.any([signal, leave.signal]) })
      noteWaiting()
      const { left, newContents: count } = /** @type {IndexTurn} */ (await turn)
      this.#newContents = left === 'nothing' ? 0 : count
      return left
    } catch (error) {
      // The queue does not wait for work that is aborted; whoever closes the file must.
      await Promise.resolve(work).catch(() => {})
      if (signal.aborted || !leave.signal.aborted) throw error
      return 'texts'
    } finally {
      this.#leave = null
      // A turn that was called off while it waited has left the queue without a call of `begin`.
      noteWaiting()
    }
  }
}
