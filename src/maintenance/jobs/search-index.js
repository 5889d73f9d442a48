/**
 * Takes into the search index what is not in it yet.
 */

/**
 * @param {AbortSignal} signal
 * @returns {Promise<false>}
 */
function aborted(signal) {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true })
  })
}

/** @type {import('../job.js').MaintenanceJob} */
export const searchIndex = {
  name: 'search-index',
  intervalMs: () => 0,
  async wants({ store }) {
    const waiting = await store.upkeep.countUnindexed()
    return waiting > 0 ? `${waiting} contents wait` : null
  },
  async run({ store, signal }) {
    const waiting = await store.upkeep.countUnindexed()
    if (signal.aborted) return { result: 'stopped' }
    const indexing = store.indexSearch()
    const hasEnded = await Promise.race([indexing.then(() => true), aborted(signal)])
    if (!hasEnded) {
      // It goes on by itself for as long as the store is open, and the next opener goes on with the rest.
      indexing.catch(() => {})
      return { result: 'stopped', before: { waiting } }
    }
    return {
      result: 'done',
      before: { waiting },
      after: { waiting: await store.upkeep.countUnindexed() }
    }
  }
}
