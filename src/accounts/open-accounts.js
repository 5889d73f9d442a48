/**
 * The mailboxes that are open in this process: each once, shared by all its sessions, with what it takes to
 * open mail from its spool. Closed, and its keys zeroed, when the last session has gone and the linger time
 * is over.
 *
 *     acquire ─► open store ─► drain spool ─► sessions … ─► last release ─► linger ─► drain once more ─► close
 *
 * A mailbox that is just being closed is waited for: the next login opens it afresh.
 */
import { MailError, isMailError } from '../errors.js'
import { isDamage, recordDamage } from './damage.js'
import { checkLiveAccounts, limitStore } from './live-credentials.js'
import { OpenSpool } from './open-spool.js'
import { openStore } from './open-store.js'
import { checkRestored } from './restored.js'
import { openSealIdentities } from './seal-identity.js'
import { SharedParts } from './shared-parts.js'

/**
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../crypto/age.js').SealIdentity} SealIdentity
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./unlock.js').Unlocked} Unlocked
 */

/** Files that a login waits for, at most; the rest follows while the user is already in. */
const DRAIN_AT_LOGIN_FILES = 200

/** How often the credentials of live sessions are compared with the directory, ms. */
const CREDENTIAL_CHECK_MS = 2_000

/**
 * @typedef {object} OpenAccount
 * @property {Account} account
 * @property {AccountStore} store
 * @property {SealIdentity[]} identities
 * @property {Map<string, { version: number, sessions: number }>} credentials - of live sessions, by id
 * @property {number} sessions
 * @property {NodeJS.Timeout | null} lingerTimer
 * @property {OpenSpool} spool
 */

/**
 * @typedef {object} AcquiredAccount
 * @property {Account} account
 * @property {import('./directory-port.js').Scope} scope
 * @property {string} credentialId
 * @property {AccountStore} store
 * @property {() => Promise<void>} release
 */

/**
 * @typedef {object} OpenAccountsOptions
 * @property {import('./services.js').AccountServices} services
 * @property {(accountId: string) => void} [onOpening] - the mailbox is about to be open in this process
 * @property {(accountId: string) => void} onLocked - the mailbox is closed: other copies of its key must go
 * @property {(accountId: string, text: string) => void} endSessions
 * @property {MaintenancePort} [maintenance] - looks after the mailboxes while they are open
 *
 * @typedef {object} MaintenancePort
 * @property {(account: Account, store: AccountStore) => void} join - it is open
 * @property {(accountId: string) => Promise<void>} beforeClose - nobody uses it any more
 * @property {(accountId: string) => void} need - somebody uses it again
 * @property {(accountId: string) => Promise<(() => Promise<void>) | null>} leave - its store is about to be closed; gives
 *   work that is to be done after that, while nobody else has the file
 */

/** @typedef {import('./shared-parts.js').SharedFigures & { open: number }} OpenAccountsFigures - `open`: mailboxes */

/** Opens, shares and closes mailboxes. */
export class OpenAccounts {
  #options
  /** @type {Map<string, Promise<OpenAccount>>} */
  #open = new Map()
  /** @type {Map<string, Promise<void>>} */
  #closing = new Map()
  #shared
  /** @type {Set<string>} accounts that are on record as damaged since they were opened */
  #damaged = new Set()
  #credentialTimer
  #isShuttingDown = false

  /** @param {OpenAccountsOptions} options */
  constructor(options) {
    this.#options = options
    this.#shared = new SharedParts(options.services)
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
      // The login left a copy of the key with those who recognise repeated ones.
      if (!this.#open.has(account.id)) this.#options.onLocked(account.id)
      throw error
    })
    const credential = entry.credentials.get(credentialId) ?? {
      version: credentialVersion,
      sessions: 0
    }
    credential.version = credentialVersion
    credential.sessions += 1
    entry.credentials.set(credentialId, credential)

    let isReleased = false
    const release = async () => {
      if (isReleased) return
      isReleased = true
      credential.sessions -= 1
      if (credential.sessions === 0) entry.credentials.delete(credentialId)
      this.#leave(entry)
    }
    return { account, scope, credentialId, store: entry.store, release }
  }

  /**
   * Counts one more session in, opening the mailbox for the first.
   *
   * @param {Account} account
   * @param {import('../crypto/secret-buffer.js').SecretBuffer} masterKey
   * @returns {Promise<OpenAccount>}
   */
  async #enter(account, masterKey) {
    for (;;) {
      if (this.#isShuttingDown) throw new MailError('SHUTTING_DOWN')
      if (this.#closing.has(account.id)) this.#options.maintenance?.need(account.id)
      await this.#closing.get(account.id)
      const present = this.#open.get(account.id)
      if (present !== undefined) {
        const entry = await present
        // It may have been closed for damage while we waited.
        if (this.#open.get(account.id) !== present) continue
        this.#count(entry)
        return entry
      }
      const opening = this.#openAccount(account, masterKey)
      this.#open.set(account.id, opening)
      this.#options.onOpening?.(account.id)
      try {
        const entry = await opening
        this.#count(entry)
        await entry.spool.drain(DRAIN_AT_LOGIN_FILES)
        return entry
      } catch (error) {
        if (isDamage(error)) this.#recordDamage(account.id)
        await this.#discard(account.id, opening)
        throw error
      }
    }
  }

  /** @param {OpenAccount} entry */
  #count(entry) {
    entry.sessions += 1
    if (entry.sessions === 1) this.#options.maintenance?.need(entry.account.id)
    if (entry.lingerTimer) clearTimeout(entry.lingerTimer)
    entry.lingerTimer = null
  }

  /** @param {OpenAccount} entry */
  #leave(entry) {
    entry.sessions -= 1
    if (entry.sessions > 0 || this.#isShuttingDown) return
    const { lingerMs } = this.#options.services.config.accounts
    entry.lingerTimer = setTimeout(() => {
      entry.lingerTimer = null
      this.#retire(entry).catch((err) => {
        this.#options.services.logger.error(
          { accountId: entry.account.id, err },
          'closing a mailbox failed'
        )
      })
    }, lingerMs)
    entry.lingerTimer.unref()
  }

  /**
   * The linger time is over.
   *
   * @param {OpenAccount} entry
   */
  async #retire(entry) {
    await this.#options.maintenance?.beforeClose(entry.account.id)
    // Meanwhile somebody may have come back, and may have gone again: then a new linger time runs.
    if (entry.sessions === 0 && entry.lingerTimer === null) await this.#close(entry.account.id)
  }

  /**
   * @param {Account} account
   * @param {import('../crypto/secret-buffer.js').SecretBuffer} masterKey
   * @returns {Promise<OpenAccount>}
   */
  async #openAccount(account, masterKey) {
    const { directory } = this.#options.services
    const tenantRoom = await directory.tenantRoom(account.tenant)
    const identities = await openSealIdentities({ directory, accountId: account.id, masterKey })
    try {
      const store = await openStore({
        services: this.#options.services,
        account,
        masterKey,
        shared: this.#shared.forStore,
        onAlert: (alert) => this.#alarm(account.id, alert)
      })
      this.#shared.join(store)
      limitStore(store, account, tenantRoom)
      this.#checkRestored(account.id, store)
      this.#options.maintenance?.join(account, store)
      return {
        account,
        store,
        identities,
        credentials: new Map(),
        sessions: 0,
        lingerTimer: null,
        spool: new OpenSpool({ services: this.#options.services, account, store, identities })
      }
    } catch (error) {
      for (const identity of identities) identity.destroy()
      throw error
    }
  }

  /**
   * In the background of the first login after a restore. Cut short by the close, it begins anew at the next.
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
        this.#recordDamage(accountId)
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
   * @param {string} accountId
   * @param {import('../store/account-database.js').Alert} alert
   */
  async #alarm(accountId, { code, detail }) {
    const { services, endSessions } = this.#options
    const { logger, directory } = services
    logger.error({ accountId, code, detail }, 'mailbox alert')
    directory.audit({ action: 'mailbox-alert', accountId, detail: { code } })
    if (code === 'ACCOUNT_DAMAGED') this.#recordDamage(accountId)
    try {
      const entry = await this.#open.get(accountId)
      if (!entry?.store.hasFailed) return
      endSessions(accountId, 'The mailbox is not available')
      await this.#close(accountId)
    } catch (err) {
      logger.error({ accountId, err }, 'closing a mailbox failed')
    }
  }

  /**
   * Once for each time that it is open: a client may ask for a damaged message again and again.
   *
   * @param {string} accountId
   */
  #recordDamage(accountId) {
    if (this.#damaged.has(accountId)) return
    this.#damaged.add(accountId)
    recordDamage(this.#options.services, accountId)
  }

  /**
   * @param {string} accountId
   * @returns {Promise<AccountStore | null>} null where the mailbox is not open in this process
   */
  async findStore(accountId) {
    await this.#closing.get(accountId)
    const entry = await this.#open.get(accountId)?.catch(() => null)
    return entry?.store ?? null
  }

  /**
   * Ends the sessions of a mailbox and closes it; the next login opens it again.
   *
   * @param {string} accountId
   * @param {string} text - what the sessions are told
   */
  async closeMailbox(accountId, text) {
    this.#options.endSessions(accountId, text)
    await this.#close(accountId)
  }

  /**
   * Mail lies in an account's spool. Moves it into INBOX if the mailbox is open here.
   *
   * @param {string} accountId
   */
  ring(accountId) {
    const present = this.#open.get(accountId)
    if (present === undefined) return
    present.then(
      ({ spool }) => spool.ring(),
      () => {
        // Opening failed; the mail waits for the next login.
      }
    )
  }

  async #checkCredentials() {
    const { services, endSessions } = this.#options
    try {
      await checkLiveAccounts({ services, open: this.#open, endSessions })
    } catch (err) {
      services.logger.error({ err }, 'credentials could not be checked')
    }
  }

  /**
   * @param {string} accountId
   * @param {Promise<OpenAccount>} opening - that failed, or whose first drain did
   */
  async #discard(accountId, opening) {
    if (this.#open.get(accountId) !== opening) return
    this.#open.delete(accountId)
    this.#damaged.delete(accountId)
    const entry = await opening.catch(() => null)
    if (entry !== null) await this.#shut(entry)
  }

  /**
   * @param {string} accountId
   * @returns {Promise<void>}
   */
  #close(accountId) {
    const opening = this.#open.get(accountId)
    if (opening === undefined) return this.#closing.get(accountId) ?? Promise.resolve()
    this.#open.delete(accountId)
    const closing = opening
      .then((entry) => this.#shut(entry))
      .finally(() => {
        this.#closing.delete(accountId)
      })
    this.#closing.set(accountId, closing)
    return closing
  }

  /** @param {OpenAccount} entry */
  async #shut(entry) {
    const { services, onLocked } = this.#options
    const { logger } = services
    if (entry.lingerTimer) clearTimeout(entry.lingerTimer)
    await entry.spool.close()
    try {
      const workAlone = await this.#options.maintenance?.leave(entry.account.id)
      this.#shared.leave(entry.store)
      await entry.store.close().finally(() => workAlone?.())
    } finally {
      this.#damaged.delete(entry.account.id)
      for (const identity of entry.identities) identity.destroy()
      onLocked(entry.account.id)
      logger.debug({ accountId: entry.account.id }, 'mailbox locked')
    }
  }

  /** Closes every mailbox; sessions must have ended. */
  async close() {
    this.#isShuttingDown = true
    clearInterval(this.#credentialTimer)
    const ids = [...this.#open.keys()]
    const results = await Promise.allSettled([
      ...ids.map((accountId) => this.#close(accountId)),
      ...this.#closing.values()
    ])
    for (const result of results) {
      if (result.status === 'rejected' && !isMailError(result.reason, 'BUSY')) throw result.reason
    }
    await this.#shared.close()
  }
}
