/**
 * Cuts long work into slices, so that what one user asks for does not hold up the others in the same process.
 */
import { nextTurn } from './turns.js'

/**
 * Work at a stretch, milliseconds: others are to wait for no more than 10,
 * and one more step may follow the look at the clock.
 */
const SLICE_MS = 5

/** One piece of work that gives way from time to time and stops when it is told to. */
export class Slicer {
  #signal
  #startedMs = performance.now()

  /** @param {{ throwIfAborted: () => void }} [signal] - calls the work off */
  constructor(signal) {
    this.#signal = signal
  }

  /** @returns {boolean} whether others are to have their turn now */
  get isSpent() {
    return performance.now() - this.#startedMs >= SLICE_MS
  }

  /** Begins a new slice: others have had their turn. */
  begin() {
    this.#startedMs = performance.now()
  }

  /**
   * Stands in line for a turn of the event loop when the slice is used up, else returns at once.
   *
   * @throws the signal's reason when the work was called off
   */
  async breathe() {
    if (this.isSpent) {
      await nextTurn()
      this.begin()
    }
    this.#signal?.throwIfAborted()
  }
}
