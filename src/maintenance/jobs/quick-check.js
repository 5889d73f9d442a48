/**
 * Checks the structure of the file. Every page that it reads is authenticated by the cipher on the way.
 */
import { MailError } from '../../errors.js'
import { DAY_MS } from '../job.js'
import { counted } from '../../support/format.js'

/** @type {import('../job.js').MaintenanceJob} */
export const quickCheck = {
  name: 'quick-check',
  intervalMs: ({ quickCheckDays }) => (quickCheckDays === 0 ? Infinity : quickCheckDays * DAY_MS),
  isHeavy: true,
  async run({ store, signal }) {
    const problems = await store.upkeep.quickCheck({ signal })
    if (problems === null) return { result: 'stopped' }
    if (problems.length > 0)
      throw new MailError('ACCOUNT_DAMAGED', {
        detail: `quick_check: ${counted(problems.length, 'problem')}`
      })
    return { result: 'done' }
  }
}
