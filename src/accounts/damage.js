/**
 * What a session, an unlock or the check after a restore finds damaged is on record at once, under the job that looks at
 * the whole file: health names the mailbox, and the next occasion of maintenance looks at all of it, which confirms the
 * record or clears it.
 */
import { isMailError } from '../errors.js'

/** The job of maintenance (src/maintenance/jobs/quick-check.js) that stands for the state of the file. */
const JOB = 'quick-check'

/**
 * @param {unknown} error
 * @returns {boolean} whether it says that the file is damaged; to be asked once the master key is known to be right
 */
export const isDamage = (error) =>
  isMailError(error, 'ACCOUNT_DAMAGED') || isMailError(error, 'KEY_REJECTED')

/**
 * @param {Pick<import('./services.js').AccountServices, 'directory' | 'clock'>} services
 * @param {string} accountId
 */
export function recordDamage({ directory, clock }, accountId) {
  directory.recordMaintenance({
    accountId,
    job: JOB,
    // Due at once, whatever the hour.
    state: {
      doneAtMs: 0,
      failures: 1,
      failedCode: 'ACCOUNT_DAMAGED',
      nextTryAtMs: clock.nowMs()
    },
    run: null
  })
}

/**
 * Another file has taken the place of the damaged one.
 *
 * @param {Pick<import('./directory-port.js').DirectoryPort, 'recordMaintenance'>} directory
 * @param {string} accountId
 */
export function forgetDamage(directory, accountId) {
  directory.recordMaintenance({
    accountId,
    job: JOB,
    state: { doneAtMs: null, failures: 0, failedCode: null, nextTryAtMs: null },
    run: null
  })
}
