/**
 * Checks the structure of the file. Every page that it reads is authenticated by the cipher on the way.
 */
import { MailError } from '../../errors.js'
import { DAY_MS } from '../job.js'

/** @type {import('../job.js').MaintenanceJob} */
export const quickCheck = {
  name: 'quick-check',
  intervalMs: ({ quickCheckDays }) => (quickCheckDays === 0 ? Infinity : quickCheckDays * DAY_MS),
  isHeavy: true,
  async run({ store, signal }) {
    const problems = await store.upkeep.quickCheck({ signal })
    if (problems === null) return { result: 'stopped' }
    if (problems.length > 0)
      throw new MailError('ACCOUNT_DAMAGED', { detail: `quick_check: ${problems.length} problems` })
    return { result: 'done' }
  }
}
