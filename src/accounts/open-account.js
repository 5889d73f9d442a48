/**
 * One mailbox that is open, or being opened, and who uses it.
 */
import { unlessOvertaken } from './damage.js'
import { limitStore } from './live-credentials.js'
import { OpenSpool } from './open-spool.js'
import { openStore } from './open-store.js'
import { closeSealIdentities, openSealIdentities } from './seal-identity.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./services.js').AccountServices} AccountServices
 *
 * @typedef {object} OpenParts
 * @property {import('../store/account-store.js').AccountStore} store
 * @property {import('../crypto/age.js').SealIdentity[]} identities
 * @property {OpenSpool} spool
 *
 * @typedef {object} LiveCredential
 * @property {string} id
 * @property {number} version - that its sessions came in with: sessions of an older one stay until they are ended
 * @property {number} sessions
 */

/** An open mailbox, its parts, and the credentials of its sessions. */
export class OpenAccount {
  /** @type {Promise<OpenParts>} */
  opening
  /** @type {OpenParts | null} null while it is being opened */
  parts = null
  sessions = 0
  /** @type {Map<string, LiveCredential>} */
  #credentials = new Map()
  /** @type {NodeJS.Timeout | null} */
  #lingerTimer = null

  /**
   * @param {Account} account
   * @param {(entry: OpenAccount) => Promise<OpenParts>} open
   */
  constructor(account, open) {
    this.account = account
    this.opening = open(this).then((parts) => (this.parts = parts))
  }

  /** @returns {Iterable<LiveCredential>} of live sessions */
  get credentials() {
    return this.#credentials.values()
  }

  /** @returns {boolean} whether it has no session, and no linger time runs */
  get isDeserted() {
    return this.sessions === 0 && this.#lingerTimer === null
  }

  /** Counts one more session, and ends the linger time. */
  enter() {
    this.sessions += 1
    this.stay()
  }

  /** Ends the linger time. */
  stay() {
    if (this.#lingerTimer) clearTimeout(this.#lingerTimer)
    this.#lingerTimer = null
  }

  /**
   * @param {number} lingerMs
   * @param {() => void} onOver - called when no session has come back within that time
   */
  linger(lingerMs, onOver) {
    this.#lingerTimer = setTimeout(() => {
      this.#lingerTimer = null
      onOver()
    }, lingerMs).unref()
  }

  /**
   * @param {string} id - of the credential that a session came in with
   * @param {number} version
   * @returns {() => void} to be called when the session is over
   */
  noteCredential(id, version) {
    const key = `${id} ${version}`
    const credential = this.#credentials.get(key) ?? { id, version, sessions: 0 }
    credential.sessions += 1
    this.#credentials.set(key, credential)
    return () => {
      credential.sessions -= 1
      if (credential.sessions === 0) this.#credentials.delete(key)
    }
  }
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {Account} input.account
 * @param {import('../crypto/secret-buffer.js').SecretBuffer} input.masterKey - stays the caller's
 * @param {import('./shared-parts.js').SharedParts['forStore']} input.shared
 * @param {(alert: import('../store/account-database.js').Alert) => void} input.onAlert
 * @returns {Promise<OpenParts>}
 * @throws {import('../errors.js').MailError} ACCOUNT_DAMAGED, KEY_REJECTED, BUSY, DISK_FULL …
 */
export async function openParts({ services, account, masterKey, shared, onAlert }) {
  const { directory } = services
  const tenantRoom = await directory.tenantRoom(account.tenant)
  const identities = await openSealIdentities({
    directory,
    accountId: account.id,
    masterKey
  }).catch(async (error) => {
    throw await unlessOvertaken(directory, account, error)
  })
  try {
    const store = await openStore({ services, account, masterKey, shared, onAlert })
    limitStore(store, account, tenantRoom)
    return { store, identities, spool: new OpenSpool({ services, account, store, identities }) }
  } catch (error) {
    closeSealIdentities(identities)
    throw error
  }
}
