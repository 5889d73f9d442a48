/**
 * Compares what live sessions came in with, and what their mailboxes may hold, with what the directory says now.
 */

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 *
 * @typedef {object} LiveAccount
 * @property {Pick<Account, 'id'>} account
 * @property {{ store: AccountStore } | null} parts - null while it is being opened: it has no sessions yet
 * @property {Iterable<{ id: string, version: number }>} credentials - of live sessions
 */

/**
 * A revoked, expired or changed credential ends the sessions that came in with it (RFC 9051 §7.1.5: BYE).
 *
 * @param {object} input
 * @param {Pick<import('./services.js').AccountServices, 'directory' | 'clock'>} input.services
 * @param {Iterable<LiveAccount>} input.open
 * @param {(accountId: string, text: string) => void} input.endSessions
 * @throws what the directory throws
 */
export async function checkLiveAccounts({ services: { directory, clock }, open, endSessions }) {
  for (const { account: opened, parts, credentials } of open) {
    const [...present] = credentials
    if (parts === null || present.length === 0) continue
    const accountId = opened.id
    const account = await directory.findAccount(accountId)
    if (!account?.isEnabled) {
      endSessions(accountId, 'The account was closed')
      continue
    }
    limitStore(parts.store, account, await directory.tenantRoom(account.tenant))
    for (const { id, version } of present) {
      const now = await directory.findCredential(id)
      const isGood =
        now !== null &&
        now.version === version &&
        (now.expiresAtMs === null || now.expiresAtMs > clock.nowMs())
      if (!isGood) endSessions(accountId, 'The credential was changed or revoked, log in again')
    }
  }
}

/**
 * Sets what the mailbox may hold: the account's own quota as it is now, and what its tenant has left. Mail that was
 * accepted comes in all the same.
 *
 * @param {AccountStore} store
 * @param {Account} account
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
