/**
 * A mailbox that a session, an unlock or the check after a restore finds damaged is on record at once, under the job that
 * looks at the whole file: health names the mailbox, and the next occasion of maintenance checks all of it, which confirms
 * the record or clears it.
 */
import { MailError, isMailError } from '../errors.js'

/** The job of maintenance (src/maintenance/jobs/quick-check.js) whose record says whether the file is damaged. */
const JOB = 'quick-check'

/**
 * @param {unknown} error
 * @returns {boolean} whether the error says that the file is damaged; to be asked once the master key is known to be right
 */
export const isDamage = (error) =>
  isMailError(error, 'ACCOUNT_DAMAGED') || isMailError(error, 'KEY_REJECTED')

/**
 * With a key that has been replaced, a mailbox looks like a damaged one.
 *
 * @param {Pick<import('./directory-port.js').DirectoryPort, 'findAccount'>} directory
 * @param {Pick<import('./directory-port.js').Account, 'id' | 'keyEpoch'>} account - as it was when its key was unwrapped
 * @param {unknown} error - met as its mailbox was opened
 * @returns {Promise<unknown>} what to throw: ACCOUNT_NOT_FOUND where the account has been deleted since, BUSY where it has other
 *   keys since, else the error
 */
export async function unlessOvertaken(directory, { id, keyEpoch }, error) {
  if (!isDamage(error) && !isMailError(error, 'KEYS_CONTRADICT')) return error
  const now = await directory.findAccount(id)
  if (now === null) return new MailError('ACCOUNT_NOT_FOUND', { cause: error })
  if (now.keyEpoch === keyEpoch) return error
  return new MailError('BUSY', { detail: 'the keys were changed meanwhile', cause: error })
}

/**
 * @param {Pick<import('./services.js').AccountServices, 'directory' | 'clock'>} services
 * @param {string} accountId
 */
export function recordDamage({ directory, clock }, accountId) {
  directory.recordMaintenance({
    accountId,
    job: JOB,
    // The job is due at once, whatever the hour.
    state: {
      doneAtMs: 0,
      failures: 1,
      failedCode: 'ACCOUNT_DAMAGED',
      nextTryAtMs: clock.nowMs()
    },
    run: null
  })
}
