/**
 * Work that many may ask for at once, done for all of them together.
 */
import { setImmediate } from 'node:timers/promises'

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {() => Promise<T>} as `work`, which begins in the next turn of the event loop: whoever asks before it is through
 *   gets its result
 */
export function sharedWork(work) {
  /** @type {Promise<T> | null} */
  let underWay = null
  const begin = async () => {
    try {
      await setImmediate()
      return await work()
    } finally {
      underWay = null
    }
  }
  return () => (underWay ??= begin())
}
