/**
 * Work that is done for several items at once, while its results are used in the order of the items: messages come over
 * several connections and are stored by UID.
 */

/**
 * @template T, R
 * @param {AsyncIterable<T> | Iterable<T>} items
 * @param {object} options
 * @param {() => number} options.ahead - items under way at once
 * @param {(item: T) => Promise<R>} options.work
 * @param {(result: R, item: T) => Promise<void>} options.use - one at a time
 * @throws the first failure, when all that was under way has ended
 */
export async function inOrder(items, { ahead, work, use }) {
  /** @type {{ item: T, result: Promise<R> }[]} */
  const running = []
  const useFirst = async () => {
    const first = running.shift()
    if (first) await use(await first.result, first.item)
  }
  try {
    for await (const item of items) {
      const result = work(item)
      // Its failure is met when its turn comes.
      result.catch(() => {})
      running.push({ item, result })
      while (running.length > ahead()) await useFirst()
    }
    while (running.length > 0) await useFirst()
  } finally {
    await Promise.allSettled(running.map(({ result }) => result))
  }
}
