/**
 * What becomes of an open mailbox file when it, or what it lies on, fails: who is told, and whether it can go on.
 */
import { errorCodeOf, toMailError } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { sparingly, supervise } from './supervise.js'

/** @typedef {import('./supervise.js').Alert} Alert */

/** The troubles of one open file. */
export class FileTrouble {
  #onAlert
  #onTrouble
  #onFailure
  /** @type {MailError | null} */
  #failure = null

  /**
   * @param {object} options
   * @param {(alert: Alert) => void} options.onAlert - something that an operator must look at
   * @param {() => void} options.onFailure - called once, after the alert, when the file must be closed
   */
  constructor({ onAlert, onFailure }) {
    this.#onAlert = onAlert
    this.#onTrouble = sparingly(onAlert)
    this.#onFailure = onFailure
  }

  /** @returns {MailError | null} what every call is answered with from then on */
  get failure() {
    return this.#failure
  }

  /**
   * Damage that a read meets may be one page of one message, and the rest of the mail stays readable; a write that
   * meets it would build on it.
   *
   * @param {unknown} cause - of a call that failed
   * @returns {unknown} what the caller gets
   */
  report(cause) {
    const error = toMailError(cause)
    const code = errorCodeOf(error)
    if (code === 'ABORT_ERR') return new MailError('SHUTTING_DOWN', { cause: error })
    if (!(error instanceof MailError)) return error
    const { detail = '' } = error
    if (code === 'NOT_DURABLE') this.fail(error)
    else if (!this.#failure && (code === 'ACCOUNT_DAMAGED' || code === 'DISK_FULL'))
      this.#onTrouble({ code, detail })
    return error
  }

  /**
   * From here on every call answers with the failure; the owner closes the store and opens it anew, through
   * SQLite's recovery.
   *
   * @param {MailError} error
   */
  fail(error) {
    if (this.#failure) return
    this.#failure = error
    this.#onAlert({ code: error.code, detail: error.detail ?? '' })
    this.#onFailure()
  }

  /** @param {Promise<unknown>} work - on the file, that nobody waits for */
  supervise(work) {
    supervise(work, this.#onAlert)
  }
}
