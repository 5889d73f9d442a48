/**
 * Cuts long work into slices, so that one user's search does not hold up the others in the same process.
 */
import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work at a stretch: DESIGN's bound is 10, and one more step may follow the look at the clock. */
const SLICE_MS = 8

/** One piece of work that gives way from time to time and stops when it is told to. */
export class Slicer {
  #signal
  #startedMs = performance.now()

  /** @param {{ throwIfAborted: () => void } | undefined} signal */
  constructor(signal) {
    this.#signal = signal
  }

  /**
   * Waits for the next turn of the event loop when the slice is used up, else returns at once.
   *
   * @throws the signal's reason when the work was called off
   */
  async breathe() {
    if (performance.now() - this.#startedMs >= SLICE_MS) {
      await setImmediate()
      this.#startedMs = performance.now()
    }
    this.#signal?.throwIfAborted()
  }
}
