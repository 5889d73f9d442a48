/**
 * Deletes contents that no message refers to any more, and what an APPEND left behind that never came to its end.
 */

/** @type {import('../job.js').MaintenanceJob} */
export const garbage = {
  name: 'garbage',
  intervalMs: () => 0,
  wants: async ({ store }) => ((await store.upkeep.hasGarbage()) ? 'orphaned contents' : null),
  async run({ store, signal }) {
    await store.upkeep.sweep(signal)
    return { result: signal.aborted ? 'stopped' : 'done' }
  }
}
