/**
 * Work that is done for several items at once, while its results are used in the order of the items: files are read while the
 * message before them is stored, messages come over several connections and are stored by UID.
 */

/**
 * @template T, R
 * @param {AsyncIterable<T> | Iterable<T>} items
 * @param {(item: T) => Promise<R>} work
 * @param {object} options
 * @param {() => number} options.ahead - items under way while the result of one is used
 * @returns {AsyncGenerator<R, void>} what `work` gives, in the order of the items. What `work` throws is thrown when its item's
 *   turn comes. In either case the generator ends only when all that was under way has ended
 */
export async function* mapAhead(items, work, { ahead }) {
  /** @type {Promise<R>[]} */
  const begun = []
  try {
    for await (const item of items) {
      const result = work(item)
      // A failure is thrown when its turn comes, if it ever does.
      result.catch(() => {})
      begun.push(result)
      while (begun.length > ahead()) yield await taken(begun)
    }
    while (begun.length > 0) yield await taken(begun)
  } finally {
    await Promise.allSettled(begun)
  }
}

/**
 * @template R
 * @param {Promise<R>[]} begun - not empty
 */
const taken = (begun) => /** @type {Promise<R>} */ (begun.shift())
