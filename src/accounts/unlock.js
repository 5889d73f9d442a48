/**
 * LOGIN: from a name and a password to an account and its master key, the only way in.
 *
 * A wrong password, an unknown name, and a credential that has expired or was revoked get one and the
 * same answer after the same work. Which of these it was goes to the log and the audit log, never to the
 * client.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { MailError, isMailError } from '../errors.js'
import { counters } from '../telemetry/counters.js'
import { checkCredential } from './check-credential.js'
import { unlessOvertaken } from './damage.js'
import { EqualAttempts } from './equal-attempts.js'
import { KeyAlarms } from './key-alarms.js'
import { PasswordTurns, standingIn } from './password-turns.js'
import { RecentLogins } from './recent-logins.js'
import { settleRekey } from './rekey.js'
import { requireSealKeyIsOurs } from './seal-identity.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./argon2-queue.js').Asker} Asker
 * @typedef {import('./argon2-queue.js').Standing} Standing
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 */

/**
 * @typedef {object} Unlocked
 * @property {Account} account
 * @property {string} credentialId
 * @property {number} credentialVersion - a session lives as long as the directory's row has this version
 * @property {import('./directory-port.js').Scope} scope
 * @property {SecretBuffer} masterKey - the caller disposes of it
 */

/**
 * @typedef {object} LoginAttempt
 * @property {string} username - as typed
 * @property {Uint8Array} password - the caller zeroes it
 * @property {string | null} remoteAddress - null for the machine's own operator
 * @property {string} [service] - that the login is for if it opens no mailbox, for instance `smtp`. The key of such a login
 *   is not remembered: no mailbox would be locked later to forget the key with
 * @property {Asker} [asker] - the client, who has to wait where many log in, and may go meanwhile
 */

/**
 * An address that is held waits for its refusal, at least and at most so many ms. It is refused without a check, but even so
 * thousands of refusals a second would slow others down; and hundreds of connections that are answered at one moment come
 * back at one moment.
 */
const REFUSAL_MS = { least: 1_500, most: 4_500 }

/** Checks credentials against the directory. */
export class Unlocker {
  #services
  #throttle
  #repeatLogins
  #logger
  #keyAlarms
  #sleep
  #equalAttempts = new EqualAttempts()
  #passwordTurns
  #recentLogins = new RecentLogins()
  /** @type {Set<Promise<void>>} */
  #background = new Set()

  /**
   * @param {object} options
   * @param {import('./directory-port.js').DirectoryPort} options.directory
   * @param {import('./argon2-queue.js').Argon2Queue} options.argon2
   * @param {import('./pepper.js').Pepper} options.pepper
   * @param {import('./throttle.js').Throttle} options.throttle
   * @param {import('./repeat-login-cache.js').RepeatLoginCache | null} options.repeatLogins
   * @param {string} options.defaultDomain - of names that have none
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {import('../telemetry/logger.js').Logger} options.logger
   * @param {(ms: number) => Promise<unknown>} [options.sleep] - for tests
   */
  constructor({
    directory,
    argon2,
    pepper,
    throttle,
    repeatLogins,
    defaultDomain,
    clock,
    logger,
    sleep = sleepFor
  }) {
    this.#services = { directory, argon2, pepper, clock }
    this.#throttle = throttle
    this.#repeatLogins = repeatLogins
    this.#passwordTurns = new PasswordTurns({ defaultDomain })
    this.#logger = logger
    this.#keyAlarms = new KeyAlarms({ directory, logger })
    this.#sleep = sleep
  }

  /**
   * @param {LoginAttempt} attempt
   * @returns {Promise<Unlocked>}
   * @throws {MailError} AUTHENTICATION_FAILED; THROTTLED; ACCOUNT_DISABLED, ACCOUNT_DAMAGED and KEYS_CONTRADICT only after
   *   the right credential; PEPPER_MISSING; BUSY while a rekey is under way; and the reason of the asker's signal
   */
  async unlock(attempt) {
    try {
      const unlocked = await this.#unlock(attempt)
      counters.logins.good++
      return unlocked
    } catch (error) {
      const hasGone = error === attempt.asker?.closeSignal.reason
      if (!hasGone) counters.logins[outcomeOf(error)]++
      throw error
    }
  }

  /**
   * @param {LoginAttempt} attempt
   * @returns {Promise<Unlocked>}
   */
  async #unlock({ username, password, remoteAddress, service, asker }) {
    const { directory } = this.#services
    const isKept = service === undefined
    const account = await directory.findByAddress(username)
    const attempt = { username, password, remoteAddress }
    const { clock } = this.#services
    const record = (/** @type {Unlocked} */ { credentialId }) => {
      this.#recentLogins.note({ credentialId, remoteAddress }, clock.nowMs())
      this.#audit('login', account, remoteAddress, {
        credential: credentialId,
        ...(service !== undefined && { service })
      })
    }
    const recognize = async () => {
      const repeated = await this.#recognize(account, password)
      if (repeated === null) return null
      const { credentialId } = repeated
      directory.recordUse(credentialId)
      if (this.#recentLogins.isNew({ credentialId, remoteAddress }, clock.nowMs())) record(repeated)
      return repeated
    }
    return this.#throttled(attempt, account, recognize, async ({ standing }) => {
      const input = { account, password, remoteAddress, isKept, asker }
      const unlocked = isKept
        ? await this.#equalAttempts.run(
            { username, password, asker },
            {
              recognize: () => this.#recognize(account, password),
              check: () => this.#check({ ...input, standing })
            }
          )
        : await this.#passwordTurns.run(attempt, (turn) =>
            this.#check({ ...input, standing: standingIn(turn, standing) })
          )
      directory.recordUse(unlocked.credentialId)
      record(unlocked)
      return unlocked
    })
  }

  /**
   * @param {Account | null} account
   * @param {Uint8Array} password
   * @returns {Promise<Unlocked | null>} null where that password is not remembered as right
   */
  async #recognize(account, password) {
    if (account === null || this.#repeatLogins === null) return null
    const repeated = await this.#repeatLogins.recognize({ account, password })
    return repeated && unlockedFrom({ account, ...repeated })
  }

  /**
   * Checks a secret as a login does: slowed down, counted and audited with all other attempts on the name and from the
   * address. For secrets that are asked for again inside of a session, where they can be guessed at just as well.
   *
   * @template T
   * @param {LoginAttempt} attempt - `password` may be a recovery code
   * @param {Account | null} account - null where no account has the name
   * @param {(turn: { standing: Standing }) => Promise<T>} check - throws AUTHENTICATION_FAILED where the secret is wrong;
   *   `standing` goes with its derivations
   * @returns {Promise<T>}
   * @throws {MailError} THROTTLED; what `check` throws
   */
  throttled(attempt, account, check) {
    const inTurn = (/** @type {{ standing: Standing }} */ { standing }) =>
      this.#passwordTurns.run(attempt, (turn) => check({ standing: standingIn(turn, standing) }))
    return this.#throttled(attempt, account, async () => null, inTurn)
  }

  /**
   * @template T
   * @param {LoginAttempt} attempt
   * @param {Account | null} account
   * @param {() => Promise<T | null>} recognize - needs neither a wait nor a derivation, but comes after the admission: else an
   *   address that is held could test passwords with it as fast as it can ask
   * @param {(admitted: { standing: Standing }) => Promise<T>} check
   * @returns {Promise<T>}
   */
  async #throttled(attempt, account, recognize, check) {
    const admitted = await this.#admit(attempt, account)
    /** @type {'succeed' | 'fail' | 'cancel'} */
    let outcome = 'cancel'
    try {
      const repeated = await recognize()
      if (repeated !== null) {
        outcome = 'succeed'
        return repeated
      }
      if (admitted.waitMs > 0) await this.#sleep(admitted.waitMs)
      const result = await check(admitted)
      outcome = 'succeed'
      return result
    } catch (error) {
      if (isMailError(error, 'AUTHENTICATION_FAILED')) {
        outcome = 'fail'
        this.#audit('login-failed', account, attempt.remoteAddress)
      }
      throw error
    } finally {
      admitted[outcome]()
    }
  }

  /**
   * @param {LoginAttempt} attempt
   * @param {Account | null} account
   * @returns {Promise<import('./throttle.js').Attempt>}
   * @throws {MailError} THROTTLED, after a while
   */
  async #admit(attempt, account) {
    try {
      return await this.#throttle.admitInTurn(attempt)
    } catch (error) {
      if (isMailError(error, 'THROTTLED')) {
        this.#audit('login-throttled', account, attempt.remoteAddress)
        await this.#sleep(randomInt(REFUSAL_MS.least, REFUSAL_MS.most))
      }
      throw error
    }
  }

  /**
   * @param {string} accountId - whose mailbox is locked now: its key must leave the memory
   */
  forget(accountId) {
    this.#repeatLogins?.forget(accountId)
  }

  /** Waits for the writes that go on behind logins, and forgets every key. */
  async close() {
    this.#repeatLogins?.forgetAll()
    await Promise.all(this.#background)
  }

  /**
   * @param {{ account: Account | null, password: Uint8Array, remoteAddress: string | null, isKept: boolean, standing: Standing,
   *   asker: Asker | undefined }} input
   * @returns {Promise<Unlocked>}
   */
  async #check(input) {
    const { account, password, remoteAddress, isKept, standing, asker } = input
    const services = this.#services
    const { directory } = services
    const checked = await this.#keyAlarms.during({ account, remoteAddress }, () =>
      checkCredential({ services, account, password, standing, asker })
    )
    if (!checked || !account) throw new MailError('AUTHENTICATION_FAILED')
    const { credential, masterKey, rewrapped } = checked
    try {
      await settleRekey({ services, account, masterKey })
      const now = await directory.findAccount(account.id)
      // The rows have changed meanwhile, by this settling or by another rekey: the attempt starts again with the present ones.
      if (now !== null && now.keyEpoch !== account.keyEpoch) {
        masterKey.dispose()
        return await this.#check({ ...input, account: now })
      }
      await this.#requireStillGood(now ?? account, credential)
      const isMended = await this.#keyAlarms.during({ account, remoteAddress }, () =>
        requireSealKeyIsOurs({ directory, account, masterKey }).catch(async (error) => {
          const failure = await unlessOvertaken(directory, account, error)
          const isDeleted = isMailError(failure, 'ACCOUNT_NOT_FOUND')
          throw isDeleted ? new MailError('AUTHENTICATION_FAILED') : failure
        })
      )
      if (isMended) {
        const reason = 'the public seal key was damaged, and was put right'
        this.#logger.error({ accountId: account.id, detail: reason }, 'keys alarm')
        this.#audit('key-alarm', account, remoteAddress, { reason })
      }
      if (rewrapped) this.#raise(rewrapped)
      if (isKept) this.#repeatLogins?.remember({ account, credential, password, masterKey })
      return unlockedFrom({ account, credential, masterKey })
    } catch (error) {
      masterKey.dispose()
      throw error
    }
  }

  /**
   * The checks that come after the derivation, so that what fails here costs what a wrong password costs.
   *
   * @param {Account} account - as it is by now
   * @param {Credential} credential
   */
  async #requireStillGood(account, credential) {
    const { directory, clock } = this.#services
    const now = await directory.findCredential(credential.id)
    const isGood =
      now !== null &&
      now.version === credential.version &&
      (now.expiresAtMs === null || now.expiresAtMs > clock.nowMs())
    if (!isGood) throw new MailError('AUTHENTICATION_FAILED')
    if (!account.isEnabled) throw new MailError('ACCOUNT_DISABLED')
  }

  /**
   * Writes the credential at the current parameters in the background: the login does not wait for the disk.
   *
   * @param {Credential} rewrapped
   */
  #raise(rewrapped) {
    const { version, accountId } = rewrapped
    const work = this.#services.directory.replaceCredentials([rewrapped], { version }).then(
      (isReplaced) => {
        if (isReplaced) this.#services.directory.audit({ action: 'credential-raised', accountId })
      },
      (error) => {
        // The old wrap still opens; the next good login tries again.
        this.#logger.warn({ accountId, err: error }, 'raising argon2 parameters failed')
      }
    )
    this.#background.add(work)
    work.finally(() => this.#background.delete(work))
  }

  /**
   * @param {import('./audit-actions.js').AuditAction} action
   * @param {Account | null} account
   * @param {string | null} remoteAddress
   * @param {Record<string, string>} [detail]
   */
  #audit(action, account, remoteAddress, detail) {
    // The name as typed is not kept: people type passwords there.
    this.#services.directory.audit({
      action,
      accountId: account?.id ?? null,
      remoteAddress,
      ...(detail && { detail })
    })
  }
}

/**
 * @param {unknown} error
 * @returns {'refused' | 'throttled' | 'failed'}
 */
function outcomeOf(error) {
  if (isMailError(error, 'THROTTLED')) return 'throttled'
  const isRefused =
    isMailError(error, 'AUTHENTICATION_FAILED') || isMailError(error, 'ACCOUNT_DISABLED')
  return isRefused ? 'refused' : 'failed'
}

/**
 * @param {{ account: Account, credential: Credential, masterKey: SecretBuffer }} input
 * @returns {Unlocked}
 */
function unlockedFrom({ account, credential, masterKey }) {
  return {
    account,
    credentialId: credential.id,
    credentialVersion: credential.version,
    scope: credential.scope,
    masterKey
  }
}
