/**
 * Tells the operator when keys that a login needs do not fit each other.
 */
import { MailError } from '../errors.js'

/** @import { Account, DirectoryPort } from './directory-port.js' */

/** Errors that mean keys which do not fit, and not a failed attempt. */
const ALARMING = new Set(['ACCOUNT_DAMAGED', 'KEYS_CONTRADICT', 'PEPPER_MISSING'])

/** The alarms of one process. */
export class KeyAlarms {
  #directory
  #logger
  /**
   * Accounts whose password needs another pepper, once the operator was told so.
   *
   * @type {Set<string>}
   */
  #withoutPepper = new Set()

  /**
   * @param {object} options
   * @param {Pick<DirectoryPort, 'audit'>} options.directory
   * @param {import('../telemetry/logger.js').Logger} options.logger
   */
  constructor({ directory, logger }) {
    this.#directory = directory
    this.#logger = logger
  }

  /**
   * @template T
   * @param {{ account: Account | null, remoteAddress: string | null }} where
   * @param {() => Promise<T>} work - of a login
   * @returns {Promise<T>}
   * @throws what `work` throws; the operator is told where it is alarming
   */
  async during({ account, remoteAddress }, work) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof MailError && ALARMING.has(error.code))
        this.#tell(error, { accountId: account?.id ?? null, remoteAddress })
      throw error
    }
  }

  /**
   * After the pepper is lost every attempt with a password fails by that, those of each mail program all day and of strangers too:
   * one alarm for each account is enough.
   *
   * @param {MailError} error
   * @param {{ accountId: string | null, remoteAddress: string | null }} where
   */
  #tell({ code, detail = '' }, { accountId, remoteAddress }) {
    const isKnown = code === 'PEPPER_MISSING' && this.#withoutPepper.has(accountId ?? '')
    if (isKnown) {
      this.#directory.audit({ action: 'login-failed', accountId, remoteAddress, detail: { code } })
      return
    }
    if (code === 'PEPPER_MISSING') this.#withoutPepper.add(accountId ?? '')
    this.#logger.error({ accountId, code, detail }, 'login refused: keys alarm')
    const reason = detail
    this.#directory.audit({
      action: 'key-alarm',
      accountId,
      remoteAddress,
      detail: { code, reason }
    })
  }
}
