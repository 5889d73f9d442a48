/**
 * Tells the throttle of a process that starts who was right before, and from where, by the audit log: else a restart would
 * make strangers of everybody, and whoever guesses from behind the same router would keep the owner out.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { REMEMBER_GOOD_MS } from './tallies.js'

/** Logins of which a process takes note, from the newest back. */
const MAX_PLACES = 20_000
/** Logins that are read at once. */
const PAGE_ROWS = 500

/**
 * @typedef {Pick<import('./services.js').AccountServices, 'directory' | 'throttle' | 'clock' | 'logger'>} Services
 */

/**
 * @param {{ services: Services }} options
 * @returns {{ done: Promise<void>, stop: () => Promise<void> }} logins are served meanwhile
 */
export function rememberPlaces({ services }) {
  const stopping = new AbortController()
  const done = readPlaces(services, stopping.signal).catch((err) => {
    services.logger.warn({ err }, 'who has logged in before could not be read')
  })
  return {
    done,
    stop: async () => {
      stopping.abort()
      await done
    }
  }
}

/**
 * @param {Services} services
 * @param {AbortSignal} signal
 */
async function readPlaces({ directory, throttle, clock }, signal) {
  const sinceMs = clock.nowMs() - REMEMBER_GOOD_MS
  /** @type {Set<string>} accounts with addresses */
  const seen = new Set()
  /** @type {number | undefined} */
  let beforeId
  for (let isMore = true; isMore && seen.size < MAX_PLACES;) {
    const rows = await directory.pageAudit({
      action: 'login',
      sinceMs,
      limit: PAGE_ROWS,
      ...(beforeId !== undefined && { beforeId })
    })
    isMore = rows.length === PAGE_ROWS
    beforeId = rows.at(-1)?.id
    for (const { accountId, remoteAddress, atMs } of rows) {
      if (signal.aborted) return
      const place = `${accountId} ${remoteAddress}`
      if (!accountId || !remoteAddress || seen.has(place)) continue
      seen.add(place)
      const account = await directory.findAccount(accountId)
      if (account === null) continue
      for (const username of [account.address, ...(await directory.listAliases(accountId))])
        throttle.remember({ username, remoteAddress, atMs })
      await nextTurn()
    }
  }
}
