/**
 * While a mailbox is open, its key is in memory anyway. A client that logs in again with the same
 * credential is then recognised by a keyed hash of it, and argon2 is skipped.
 *
 * The hash's key is random, of this process, and never on disk. An entry holds only as long as the
 * directory's row says the same: a credential that was revoked or changed, or has expired, is not recognised. The
 * owner of the open mailboxes calls `forget` when one is locked.
 */
import { createHmac } from 'node:crypto'
import { SecretBuffer } from '../crypto/secret-buffer.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./directory-port.js').DirectoryPort} DirectoryPort
 */

/**
 * @typedef {object} RepeatLogin
 * @property {Credential} credential - as the directory has it now
 * @property {SecretBuffer} masterKey - the caller's own
 */

/**
 * @typedef {object} Entry
 * @property {string} credentialId
 * @property {number} version
 * @property {number} keyEpoch
 * @property {string} scope
 * @property {number | null} expiresAtMs
 * @property {Buffer} sealPublicKey
 * @property {SecretBuffer} masterKey
 */

/** At most so many credentials are remembered for one account: a password and the app passwords of a household's devices. */
const MAX_ENTRIES_PER_ACCOUNT = 32

/** Recognises credentials that were right a moment ago. */
export class RepeatLoginCache {
  #directory
  #clock
  #key = SecretBuffer.random(32)
  /** @type {Map<string, Map<string, Entry>>} by account, then by keyed hash */
  #accounts = new Map()

  /**
   * @param {object} options
   * @param {DirectoryPort} options.directory
   * @param {import('../support/clock.js').Clock} options.clock
   */
  constructor({ directory, clock }) {
    this.#directory = directory
    this.#clock = clock
  }

  /**
   * @param {string} accountId
   * @param {Uint8Array} password
   * @returns {string}
   */
  #hash(accountId, password) {
    return createHmac('sha256', this.#key.bytes)
      .update(`${accountId}\0`)
      .update(password)
      .digest('base64')
  }

  /**
   * @param {object} input
   * @param {Account} input.account
   * @param {Credential} input.credential - that has just proved right
   * @param {Uint8Array} input.password - what was typed
   * @param {SecretBuffer} input.masterKey - copied
   */
  remember({ account, credential, password, masterKey }) {
    const entries = this.#accounts.get(account.id) ?? new Map()
    this.#accounts.set(account.id, entries)
    const hash = this.#hash(account.id, password)
    this.#drop(entries, hash)
    const [oldest] = entries.keys()
    if (entries.size >= MAX_ENTRIES_PER_ACCOUNT) this.#drop(entries, oldest)
    entries.set(hash, {
      credentialId: credential.id,
      version: credential.version,
      keyEpoch: credential.keyEpoch,
      scope: credential.scope,
      expiresAtMs: credential.expiresAtMs,
      sealPublicKey: account.sealPublicKey,
      masterKey: masterKey.clone()
    })
  }

  /**
   * @param {object} input
   * @param {Account} input.account - as the directory has it now
   * @param {Uint8Array} input.password
   * @returns {Promise<RepeatLogin | null>}
   */
  async recognize({ account, password }) {
    const entries = this.#accounts.get(account.id)
    if (!entries) return null
    const hash = this.#hash(account.id, password)
    const entry = entries.get(hash)
    if (!entry) return null
    const credential = await this.#directory.findCredential(entry.credentialId)
    const isValid =
      account.isEnabled &&
      account.sealPublicKey.equals(entry.sealPublicKey) &&
      account.keyEpoch === entry.keyEpoch &&
      credential !== null &&
      credential.accountId === account.id &&
      credential.version === entry.version &&
      credential.keyEpoch === entry.keyEpoch &&
      credential.scope === entry.scope &&
      credential.expiresAtMs === entry.expiresAtMs &&
      (entry.expiresAtMs === null || entry.expiresAtMs > this.#clock.nowMs())
    if (!isValid) {
      this.#drop(entries, hash)
      return null
    }
    // The mailbox may have been locked while the directory answered.
    if (entry.masterKey.isDisposed) return null
    return { credential, masterKey: entry.masterKey.clone() }
  }

  /**
   * @param {string} accountId - whose mailbox is locked now
   */
  forget(accountId) {
    for (const { masterKey } of this.#accounts.get(accountId)?.values() ?? []) masterKey.dispose()
    this.#accounts.delete(accountId)
  }

  /** Forgets every account. */
  forgetAll() {
    for (const accountId of [...this.#accounts.keys()]) this.forget(accountId)
  }

  /**
   * @param {Map<string, Entry>} entries
   * @param {string | undefined} hash
   */
  #drop(entries, hash) {
    if (hash === undefined) return
    entries.get(hash)?.masterKey.dispose()
    entries.delete(hash)
  }
}
