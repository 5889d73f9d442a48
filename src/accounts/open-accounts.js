/**
 * The mailboxes that are open in this process: each once, shared by all its sessions, with what it takes to
 * open mail from its spool. Closed, and its keys zeroed, when the last session has gone and the linger time
 * is over.
 *
 *     acquire ─► open store ─► drain spool ─► sessions … ─► last release ─► linger ─► drain once more ─► close
 *
 * A mailbox that is just being closed is waited for: the next login opens it afresh.
 */
import { errorCodeOf, toMailError } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { MADE_ANEW, checkLiveAccounts } from './live-credentials.js'
import { MailboxAlerts } from './mailbox-alerts.js'
import { OpenAccount, openParts } from './open-account.js'
import { removeIfErased } from './remove-account.js'
import { checkRestored } from './restored.js'
import { closeSealIdentities } from './seal-identity.js'
import { SharedParts } from './shared-parts.js'

/**
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./unlock.js').Unlocked} Unlocked
 */

/** A login waits for at most so many files of its spool, and so many bytes; the rest follows while the user is already in. */
const DRAIN_AT_LOGIN = Object.freeze({ limit: 200, limitBytes: 8 * 1024 * 1024 })

/** The credentials of live sessions are compared with the directory once in so many ms. */
const CREDENTIAL_CHECK_MS = 2_000

/** Errors of a close while another process has the mailbox locked; it is closed all the same. */
const LOCKED = new Set(['BUSY', 'SHUTTING_DOWN'])

/**
 * @typedef {object} AcquiredAccount
 * @property {Account} account
 * @property {import('./directory-port.js').Scope} scope
 * @property {string} credentialId
 * @property {number} credentialVersion
 * @property {AccountStore} store
 * @property {() => Promise<void>} release
 */

/**
 * @typedef {object} OpenAccountsOptions
 * @property {import('./services.js').AccountServices} services
 * @property {(accountId: string) => void} [onOpening] - the mailbox is about to be open in this process
 * @property {(accountId: string) => void} onLocked - the mailbox is closed: other copies of its key must go
 * @property {import('./live-credentials.js').EndSessions} endSessions
 * @property {MaintenancePort} [maintenance] - looks after the mailboxes while they are open
 *
 * @typedef {object} MaintenancePort
 * @property {(account: Account, store: AccountStore) => void} join - the mailbox is open
 * @property {(accountId: string) => Promise<void>} beforeClose - the mailbox has no session any more
 * @property {(accountId: string) => void} need - somebody logs in to it again
 * @property {(accountId: string) => Promise<(() => Promise<void>) | null>} leave - its store is about to be closed; gives
 *   work that is to be done after that, while nobody else has the file
 */

/** @typedef {import('./shared-parts.js').SharedFigures & { open: number }} OpenAccountsFigures - `open`: mailboxes */

/** Opens, shares and closes mailboxes. */
export class OpenAccounts {
  #options
  /** @type {Map<string, OpenAccount>} */
  #open = new Map()
  /** @type {Map<string, Promise<void>>} */
  #closing = new Map()
  #shared
  #alerts
  #credentialTimer
  /** Whether a check of the credentials is under way: with many accounts it may take longer than CREDENTIAL_CHECK_MS. */
  #isChecking = false
  #isShuttingDown = false

  /** @param {OpenAccountsOptions} options */
  constructor(options) {
    this.#options = options
    this.#shared = new SharedParts(options.services)
    this.#alerts = new MailboxAlerts(options.services)
    this.#credentialTimer = setInterval(() => this.#checkCredentials(), CREDENTIAL_CHECK_MS)
    this.#credentialTimer.unref()
  }

  /** @returns {number} mailboxes that are open or being opened */
  get size() {
    return this.#open.size
  }

  /** @returns {number} of these, how many have their file open; the others sleep */
  get awakeFiles() {
    return this.#shared.awakeFiles
  }

  /** @returns {OpenAccountsFigures} */
  get figures() {
    return { open: this.#open.size, ...this.#shared.figures }
  }

  /**
   * @param {string} accountId
   * @returns {boolean} whether the mailbox is open in this process, or being opened
   */
  isOpen(accountId) {
    return this.#open.has(accountId)
  }

  /**
   * @param {Unlocked} unlocked - its master key is disposed of here, whatever happens
   * @returns {Promise<AcquiredAccount>}
   * @throws {MailError} SHUTTING_DOWN; what opening throws: ACCOUNT_DAMAGED, KEY_REJECTED, BUSY, DISK_FULL …
   */
  async acquire(unlocked) {
    const { account, scope, credentialId, credentialVersion } = unlocked
    using masterKey = unlocked.masterKey
    const entry = await this.#enter(account, masterKey).catch((error) => {
      // The login has left a copy of the key with the cache of repeated logins.
      if (!this.#open.has(account.id)) this.#options.onLocked(account.id)
      throw error
    })
    const { store } = await entry.opening
    const endCredential = entry.noteCredential(credentialId, credentialVersion)
    let isReleased = false
    const release = async () => {
      if (isReleased) return
      isReleased = true
      endCredential()
      this.#leave(entry)
    }
    return { account, scope, credentialId, credentialVersion, store, release }
  }

  /**
   * Counts one more session in, opening the mailbox for the first.
   *
   * @param {Account} account
   * @param {import('../crypto/secret-buffer.js').SecretBuffer} masterKey
   * @returns {Promise<OpenAccount>} open
   */
  async #enter(account, masterKey) {
    for (;;) {
      if (this.#closing.has(account.id)) this.#options.maintenance?.need(account.id)
      // If the close fails, its own caller is told; opening goes through SQLite's recovery.
      await this.#closing.get(account.id)?.catch(() => {})
      // Asked after the wait: nobody would close a mailbox that is opened once shutting down has begun.
      if (this.#isShuttingDown) throw new MailError('SHUTTING_DOWN')
      const present = this.#open.get(account.id)
      const entry = present ?? (await this.#openFirst(account, masterKey))
      await entry.opening
      // The mailbox may have been closed for damage, or for a restore, while we waited.
      if (this.#open.get(account.id) !== entry) continue
      // The login was checked before the keys were changed.
      if (entry.account.keyEpoch > account.keyEpoch) throw new MailError('BUSY')
      if (entry.account.keyEpoch < account.keyEpoch) {
        // The new key has another mailbox; the keys of the open one are destroyed, and mail stored in it now would be lost.
        await this.closeMailbox(account.id, MADE_ANEW)
        continue
      }
      if (entry === present) this.#count(entry)
      return entry
    }
  }

  /**
   * @param {Account} account - whose mailbox is not open
   * @param {import('../crypto/secret-buffer.js').SecretBuffer} masterKey
   * @returns {Promise<OpenAccount>} open unless it was closed again meanwhile, with one session counted in
   */
  async #openFirst(account, masterKey) {
    const entry = new OpenAccount(account, (opened) => this.#openParts(opened, masterKey))
    this.#open.set(account.id, entry)
    this.#options.onOpening?.(account.id)
    try {
      const { spool, store } = await entry.opening
      this.#alerts.noteOpened(account.id)
      this.#count(entry)
      await spool.drain(DRAIN_AT_LOGIN)
      // Thrown, not tried again: the same message would fail again, and the login would never end while the disk is as it is.
      if (store.hasFailed) throw new MailError('NOT_DURABLE', { detail: 'waiting mail' })
      return entry
    } catch (cause) {
      const error = toMailError(cause)
      this.#alerts.noteUnopened(account.id, error)
      // Other sessions may be in already, with whom nothing is wrong.
      if (entry.sessions > 1) entry.sessions -= 1
      else await this.#close(entry)
      throw error
    }
  }

  /** @param {OpenAccount} entry - open */
  #count(entry) {
    entry.enter()
    if (entry.sessions === 1) this.#options.maintenance?.need(entry.account.id)
  }

  /** @param {OpenAccount} entry */
  #leave(entry) {
    entry.sessions -= 1
    // Sessions that end because their mailbox was closed leave after that; by then the account may have been opened anew.
    const isOpen = this.#open.get(entry.account.id) === entry
    if (!isOpen || entry.sessions > 0 || this.#isShuttingDown) return
    entry.linger(this.#options.services.config.accounts.lingerMs, () => {
      this.#retire(entry).catch(this.#notClosed(entry.account.id))
    })
  }

  /** @param {string} accountId - for a close that nobody waits for */
  #notClosed = (accountId) => (/** @type {unknown} */ err) =>
    this.#options.services.logger.error({ accountId, err }, 'closing a mailbox failed')

  /**
   * Closes the mailbox when its linger time is over.
   *
   * @param {OpenAccount} entry
   */
  async #retire(entry) {
    await entry.parts?.store.upkeep.forgetReaders()
    if (!entry.isDeserted) return
    await this.#options.maintenance?.beforeClose(entry.account.id)
    // Meanwhile somebody may have come back, and may have gone again: then a new linger time runs.
    if (entry.isDeserted) await this.#close(entry)
  }

  /**
   * @param {OpenAccount} entry
   * @param {import('../crypto/secret-buffer.js').SecretBuffer} masterKey
   * @returns {Promise<import('./open-account.js').OpenParts>}
   */
  async #openParts(entry, masterKey) {
    const { account } = entry
    const parts = await openParts({
      services: this.#options.services,
      account,
      masterKey,
      shared: this.#shared.forStore,
      onAlert: (alert) => this.#alarm(entry, alert)
    })
    this.#shared.join(parts.store)
    this.#checkRestored(account.id, parts.store)
    this.#options.maintenance?.join(account, parts.store)
    return parts
  }

  /**
   * Runs in the background of the first login after a restore. If closing cuts it short, it begins anew at the next login.
   *
   * @param {string} accountId
   * @param {AccountStore} store
   */
  #checkRestored(accountId, store) {
    const { directory, logger } = this.#options.services
    checkRestored({ directory, store, accountId }).then(
      (checked) => {
        if (!checked || checked.problems === 0) return
        logger.error({ accountId, ...checked }, 'a restored mailbox is damaged')
        this.#alerts.recordDamage(accountId)
      },
      (err) => {
        if (!isMailError(err, 'SHUTTING_DOWN'))
          logger.error({ accountId, err }, 'a restored mailbox could not be checked')
      }
    )
  }

  /**
   * A full disk passes, and a damaged page may be one message of thousands: the sessions go on and are told
   * what fails. Where the store has given its file up (damage met while writing, a lost sync), the sessions end,
   * and the next login opens the file through SQLite's recovery.
   *
   * @param {OpenAccount} entry
   * @param {import('../store/account-database.js').Alert} alert
   */
  async #alarm(entry, alert) {
    const { endSessions } = this.#options
    const accountId = entry.account.id
    this.#alerts.tell(accountId, alert)
    try {
      const { store } = await entry.opening
      if (!store.hasFailed || this.#open.get(accountId) !== entry) return
      endSessions(accountId, 'The mailbox is not available')
      await this.#close(entry)
    } catch (err) {
      this.#notClosed(accountId)(err)
    }
  }

  /**
   * @param {string} accountId
   * @returns {Promise<AccountStore | null>} null where the mailbox is not open in this process
   */
  async findStore(accountId) {
    await this.#closing.get(accountId)
    const parts = await this.#open.get(accountId)?.opening.catch(() => null)
    return parts?.store ?? null
  }

  /**
   * Ends the sessions of a mailbox and closes it; the next login opens it again.
   *
   * @param {string} accountId
   * @param {string} text - what the sessions are told
   */
  async closeMailbox(accountId, text) {
    const entry = this.#open.get(accountId)
    this.#options.endSessions(accountId, text)
    await (entry === undefined ? this.#closing.get(accountId) : this.#close(entry))
  }

  /**
   * Mail has come into an account's spool: moves it into INBOX if the mailbox is open here.
   *
   * @param {string} accountId
   */
  ring(accountId) {
    this.#open.get(accountId)?.opening.then(
      ({ spool }) => spool.ring(),
      // Opening failed; the mail waits for the next login.
      () => {}
    )
  }

  async #checkCredentials() {
    if (this.#isChecking) return
    this.#isChecking = true
    const { services, endSessions } = this.#options
    const open = [...this.#open.values()]
    const closeMailbox = (/** @type {string} */ id, /** @type {string} */ text) =>
      this.closeMailbox(id, text).catch(this.#notClosed(id))
    try {
      await checkLiveAccounts({ services, open, endSessions, closeMailbox })
    } catch (err) {
      services.logger.error({ err }, 'credentials could not be checked')
    } finally {
      this.#isChecking = false
    }
  }

  /**
   * @param {OpenAccount} entry - that is open, being opened, or could not be
   * @returns {Promise<void>} resolves when nobody in this process has the mailbox open any more
   */
  #close(entry) {
    const accountId = entry.account.id
    if (this.#open.get(accountId) !== entry)
      return this.#closing.get(accountId) ?? Promise.resolve()
    this.#open.delete(accountId)
    entry.stay()
    const closing = entry.opening
      .then(
        (parts) => this.#shut(entry.account, parts),
        // Opening failed: whoever asked for it is told.
        () => {}
      )
      .finally(() => {
        this.#alerts.noteClosed(accountId)
        this.#closing.delete(accountId)
      })
    this.#closing.set(accountId, closing)
    return closing
  }

  /**
   * @param {Account} account
   * @param {import('./open-account.js').OpenParts} parts
   */
  async #shut({ id: accountId, folder }, { store, identities, spool }) {
    const { services, onLocked } = this.#options
    const leaving = this.#options.maintenance?.leave(accountId)
    // Mail that a lock keeps out of INBOX stays in the spool, for the next login.
    store.stopWaiting()
    await spool.close()
    try {
      const workAlone = await leaving
      this.#shared.leave(store)
      await store.close().finally(() => workAlone?.())
    } finally {
      closeSealIdentities(identities)
      onLocked(accountId)
      services.logger.debug({ accountId }, 'mailbox locked')
    }
    await removeIfErased(services, folder)
  }

  /** Closes every mailbox; sessions must have ended. */
  async close() {
    this.#isShuttingDown = true
    clearInterval(this.#credentialTimer)
    for (const entry of this.#open.values()) this.#close(entry)
    const results = await Promise.allSettled(this.#closing.values())
    await this.#shared.close()
    for (const result of results) {
      if (result.status === 'rejected' && !LOCKED.has(errorCodeOf(result.reason)))
        throw result.reason
    }
  }
}
