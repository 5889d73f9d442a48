/**
 * Refreshes the statistics by which SQLite plans its queries.
 */
import { DAY_MS } from '../job.js'

/** @type {import('../job.js').MaintenanceJob} */
export const optimize = {
  name: 'optimize',
  intervalMs: () => DAY_MS,
  async run({ store, signal }) {
    const { isDone } = await store.upkeep.optimize({ signal })
    return { result: isDone ? 'done' : 'stopped' }
  }
}
