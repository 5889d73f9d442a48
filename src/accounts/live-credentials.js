/**
 * Compares what live sessions came in with, and what their mailboxes may hold, with what the directory says now.
 */

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 *
 * @typedef {object} LiveAccount
 * @property {AccountStore} store
 * @property {Map<string, { version: number, sessions: number }>} credentials - of live sessions, by id
 */

/**
 * A revoked, expired or changed credential ends the sessions that came in with it (RFC 9051 §7.1.5: BYE).
 *
 * @param {object} input
 * @param {Pick<import('./services.js').AccountServices, 'directory' | 'clock'>} input.services
 * @param {Iterable<[string, Promise<LiveAccount>]>} input.open - by account id; those that are still being opened, too
 * @param {(accountId: string, text: string) => void} input.endSessions
 * @throws what the directory throws
 */
export async function checkLiveAccounts({ services: { directory, clock }, open, endSessions }) {
  for (const [accountId, opening] of open) {
    const live = await opening.catch(() => null)
    if (live === null || live.credentials.size === 0) continue
    const account = await directory.findAccount(accountId)
    if (!account?.isEnabled) {
      endSessions(accountId, 'The account was closed')
      continue
    }
    limitStore(live.store, account, await directory.tenantRoom(account.tenant))
    for (const [credentialId, { version }] of live.credentials) {
      const now = await directory.findCredential(credentialId)
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
