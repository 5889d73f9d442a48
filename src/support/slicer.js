/**
 * Cuts long work into slices, so that what one user asks for does not hold up the others in the same process.
 */
import { nextTurn, turnStartedMs } from './turns.js'

/**
 * Work at a stretch, milliseconds: others are to wait for no more than 10,
 * and one more step may follow the look at the clock.
 */
const SLICE_MS = 5

/** Items between two looks at the clock: some tenths of a millisecond, or a few in code that has just been loaded. */
const STEP_ITEMS = 4096

/** One piece of work that gives way from time to time and stops when it is told to. */
export class Slicer {
  #signal
  /** When the slice began: what was done in this turn before the slicer was made counts as well. */
  #startedMs = turnStartedMs()

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

/**
 * As `Array.prototype.filter`, for what may be very many.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T, index: number) => boolean} isWanted
 * @param {Slicer} slicer
 * @returns {Promise<T[]>}
 */
export async function filterInSlices(items, isWanted, slicer) {
  /** @type {T[]} */
  const wanted = []
  for (let start = 0; start < items.length; start += STEP_ITEMS) {
    if (slicer.isSpent) await slicer.breathe()
    const end = Math.min(start + STEP_ITEMS, items.length)
    for (let index = start; index < end; index++) {
      const item = /** @type {T} */ (items[index])
      if (isWanted(item, index)) wanted.push(item)
    }
  }
  return wanted
}
