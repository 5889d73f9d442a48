/**
 * Tells the operator what goes wrong with the files of mailboxes in this process: in the log, the audit log and, where a
 * file is damaged, the record of maintenance that health reads.
 */
import { isMailError } from '../errors.js'
import { isDamage, recordDamage } from './damage.js'

/** Tells of a trouble that lasts only once. */
export class MailboxAlerts {
  #services
  /** @type {Set<string>} accounts that are on record as damaged since they were opened */
  #damaged = new Set()
  /** @type {Set<string>} accounts whose mailbox did not open the last time */
  #unopened = new Set()

  /** @param {Pick<import('./services.js').AccountServices, 'directory' | 'clock' | 'logger'>} services */
  constructor(services) {
    this.#services = services
  }

  /**
   * @param {string} accountId - of an open mailbox
   * @param {import('../store/account-database.js').Alert} alert
   */
  tell(accountId, alert) {
    const { logger, directory } = this.#services
    logger.error({ accountId, ...alert }, 'mailbox alert')
    directory.audit({ action: 'mailbox-alert', accountId, detail: { code: alert.code } })
    if (alert.code === 'ACCOUNT_DAMAGED') this.recordDamage(accountId)
  }

  /**
   * Records the damage once for each time that the mailbox is open: a client may ask for a damaged message again and again.
   *
   * @param {string} accountId
   */
  recordDamage(accountId) {
    if (this.#damaged.has(accountId)) return
    this.#damaged.add(accountId)
    recordDamage(this.#services, accountId)
  }

  /**
   * Logs only once that a mailbox does not open, until it opens again: mail programs try every minute.
   *
   * @param {string} accountId
   * @param {unknown} error - met as the mailbox was opened, with keys that are right
   */
  noteUnopened(accountId, error) {
    if (isDamage(error)) this.recordDamage(accountId)
    else if (!isMailError(error, 'FILE_REFUSED')) return
    if (this.#unopened.has(accountId)) return
    this.#unopened.add(accountId)
    const { code, detail = '' } = /** @type {import('../errors.js').MailError} */ (error)
    this.tell(accountId, { code, detail })
  }

  /** @param {string} accountId */
  noteOpened(accountId) {
    this.#unopened.delete(accountId)
  }

  /** @param {string} accountId */
  noteClosed(accountId) {
    this.#damaged.delete(accountId)
  }
}
