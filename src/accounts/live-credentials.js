/**
 * Compares the credentials of live sessions, and the quotas of their mailboxes, with what the directory says now.
 */
import { Slicer } from '../support/slicer.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').AccountState} AccountState
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 *
 * @typedef {{ id: string, version: number }} LiveCredential - `version`: that its sessions came in with
 *
 * @typedef {object} LiveAccount
 * @property {Pick<Account, 'id' | 'keyEpoch'>} account - as it was when it was opened
 * @property {{ store: AccountStore } | null} parts - null while it is being opened: it has no sessions yet
 * @property {Iterable<LiveCredential>} credentials - of live sessions
 *
 * @typedef {object} CheckOptions
 * @property {Pick<import('./services.js').AccountServices, 'directory' | 'clock'>} services
 * @property {LiveAccount[]} open
 * @property {EndSessions} endSessions
 * @property {(accountId: string, text: string) => unknown} closeMailbox - and its sessions; not waited for
 *
 * @callback EndSessions
 * @param {string} accountId
 * @param {string} text - what the sessions are told
 * @param {LiveCredential} [credential] - only those that came in with it; all of the account's where it is left out
 * @returns {void}
 */

/** The directory is asked about so many accounts at once: some hundred microseconds. */
const ACCOUNTS_PER_PAGE = 100

/** Told to the sessions of a mailbox whose mail was given up: under the new key there is another one. */
export const MADE_ANEW = 'The mailbox was made anew, log in again'
const ACCOUNT_CLOSED = 'The account was closed'

/**
 * A revoked, expired or changed credential ends the sessions that came in with it (RFC 9051 §7.1.5: BYE). Gives way to
 * others between pages: thousands of mailboxes may be open.
 *
 * @param {CheckOptions} options
 * @throws what the directory throws
 */
export async function checkLiveAccounts({ open, ...options }) {
  const slicer = new Slicer()
  for (let start = 0; start < open.length; start += ACCOUNTS_PER_PAGE) {
    await slicer.breathe()
    await checkPage({ ...options, open: open.slice(start, start + ACCOUNTS_PER_PAGE) })
  }
}

/** @param {CheckOptions} options */
async function checkPage({ services: { directory, clock }, open, endSessions, closeMailbox }) {
  // Also mailboxes without sessions at the moment: a client that stays for a second would always find the old quota.
  const live = open.flatMap(({ account: { id, keyEpoch }, parts, credentials }) =>
    parts === null ? [] : [{ id, keyEpoch, store: parts.store, present: [...credentials] }]
  )
  if (live.length === 0) return
  const accounts = await directory.accountStates(live.map(({ id }) => id))
  const credentials = await directory.credentialStates(
    live.flatMap(({ present }) => present.map(({ id }) => id))
  )
  for (const { id: accountId, keyEpoch, store, present } of live) {
    const account = accounts.get(accountId)
    if (account === undefined || account.keyEpoch !== keyEpoch) {
      // The keys of this mailbox are destroyed, and somebody waits for its files.
      closeMailbox(accountId, account === undefined ? ACCOUNT_CLOSED : MADE_ANEW)
      continue
    }
    if (!account.isEnabled) {
      endSessions(accountId, ACCOUNT_CLOSED)
      continue
    }
    limitStore(store, account, await directory.tenantRoom(account.tenant))
    const isGood = (/** @type {LiveCredential} */ { id, version }) => {
      const now = credentials.get(id)
      if (now === undefined || now.version !== version) return false
      return now.expiresAtMs === null || now.expiresAtMs > clock.nowMs()
    }
    for (const credential of present.filter((one) => !isGood(one)))
      endSessions(accountId, 'The credential was changed or revoked, log in again', credential)
  }
}

/**
 * Sets what the mailbox may hold: the account's own quota as it is now, and the room that its tenant has left. Mail that was
 * accepted before comes in all the same.
 *
 * @param {AccountStore} store
 * @param {Pick<AccountState, 'quotaBytes' | 'quotaMessages' | 'usedBytes'>} account
 * @param {number | null} tenantRoom - bytes; null: no limit
 */
export function limitStore({ quota }, { quotaBytes, quotaMessages, usedBytes }, tenantRoom) {
  const limits = [
    ...(quotaBytes > 0 ? [quotaBytes] : []),
    ...(tenantRoom === null ? [] : [usedBytes + tenantRoom])
  ]
  quota.bytes = limits.length === 0 ? null : Math.min(...limits)
  quota.messages = quotaMessages || null
}
