/**
 * Moves what is delivered to an open mailbox out of its spool, one run at a time, and again when a full disk or a lock has
 * stopped it.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { counters } from '../telemetry/counters.js'
import { toMailError } from '../database/sqlite-error.js'
import { drainSpool } from '../delivery/drain.js'
import { hasMail } from '../delivery/spool.js'
import { MailError } from '../errors.js'

/** A drain that was stopped is tried again after so many ms. */
const RETRY_MS = 5_000

/**
 * A spool is looked into so often, ms, though nobody has rung: whoever stored mail there may have been killed before telling, or
 * told it to a process that hung. A look is a `readdir` of a folder that is all but empty.
 */
const LOOK_MS = 2 * 60_000

/**
 * Mail that comes while a drain is running waits so many ms for more: a commit, its sync and the removal of the files cost as
 * much for one message as for many. The first message of a burst does not wait.
 */
const GATHER_MS = 30

/** The spool of one mailbox while that is open. */
export class OpenSpool {
  #services
  #account
  #store
  #identities
  /** @type {NodeJS.Timeout | null} */
  #retryTimer = null
  /** @type {Promise<void> | null} */
  #draining = null
  /** The drain that was begun last, by a login or in the background. */
  #last = Promise.resolve()
  /** Whether mail came while a drain was running. */
  #isRungAgain = false
  /** Whether the last drain in the background has failed, for a reason that does not pass. */
  #hasFailed = false
  #lookTimer
  #isClosed = false

  /**
   * @param {object} options
   * @param {Pick<import('./services.js').AccountServices, 'directory' | 'logger'>} options.services
   * @param {Pick<import('./directory-port.js').Account, 'id' | 'folder'>} options.account
   * @param {import('../delivery/drain.js').DrainStore} options.store
   * @param {import('../crypto/age.js').SealIdentity[]} options.identities
   */
  constructor({ services, account, store, identities }) {
    this.#services = services
    this.#account = account
    this.#store = store
    this.#identities = identities
    this.#lookTimer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /** Mail has come into the spool: begins a drain in the background. */
  ring() {
    if (this.#isClosed) return
    this.#isRungAgain = true
    this.#hasFailed = false
    this.#draining ??= this.#drainWhileRung()
      .catch((err) => {
        this.#hasFailed = true
        this.#services.logger.error({ accountId: this.#account.id, err }, 'draining a spool failed')
      })
      .finally(() => {
        this.#draining = null
      })
  }

  /** Begins a drain where mail lies in the spool that nobody has rung for. */
  async #look() {
    // The operator was told of a failure; the next mail, or the next login, is the next try.
    if (this.#draining || this.#hasFailed) return
    try {
      if (await hasMail(this.#spoolFolder)) this.ring()
    } catch (err) {
      const { id: accountId } = this.#account
      this.#services.logger.warn({ accountId, err }, 'the spool cannot be looked at')
    }
  }

  get #spoolFolder() {
    return join(this.#account.folder, 'spool')
  }

  /**
   * @param {{ limit?: number, limitBytes?: number }} [limits] - files, and their bytes; what is left follows in the
   *   background
   * @throws what the store throws, unless it is temporary: then the drain is tried again in the background
   */
  drain(limits = {}) {
    const drained = this.#drain(limits)
    // Drains go one after the other.
    this.#last = drained.catch(() => {})
    return drained
  }

  /** @param {{ limit?: number, limitBytes?: number }} limits */
  async #drain(limits) {
    const { logger, directory } = this.#services
    const { id: accountId } = this.#account
    const drained = await drainSpool({
      spoolFolder: this.#spoolFolder,
      identities: this.#identities,
      store: this.#store,
      logger: logger.child({ accountId }),
      ...limits,
      onSetAside: ({ name, code }) =>
        directory.audit({ action: 'spool-set-aside', accountId, detail: { name, code } })
    }).catch((cause) => {
      const error = toMailError(cause)
      if (!(error instanceof MailError) || !error.temporary) throw error
      logger.warn({ accountId, err: error }, 'the spool cannot be looked at')
      return null
    })
    if (drained === null) return this.#tryLater()
    const { delivered, setAside, remaining, stoppedBy } = drained
    counters.spool.drained += delivered
    counters.spool.setAside += setAside
    if (delivered > 0 || setAside > 0)
      logger.info({ accountId, delivered, setAside, remaining }, 'spool drained')
    if (remaining === 0) return
    if (stoppedBy === null) this.ring()
    // An INBOX without UIDs will have none later.
    else if (stoppedBy !== 'LIMIT') this.#tryLater()
  }

  #tryLater() {
    if (this.#isClosed) return
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null
      this.ring()
    }, RETRY_MS).unref()
  }

  /** Waits for the running drains, a login's too: they need keys and store. None is begun in the background after that. */
  async close() {
    this.#isClosed = true
    clearInterval(this.#lookTimer)
    if (this.#retryTimer) clearTimeout(this.#retryTimer)
    this.#isRungAgain = false
    await this.#draining
    await this.#last
  }

  async #drainWhileRung() {
    while (this.#isRungAgain) {
      this.#isRungAgain = false
      await this.drain()
      if (this.#isRungAgain) await sleep(GATHER_MS)
    }
  }
}
