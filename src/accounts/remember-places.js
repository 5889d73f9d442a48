/**
 * Tells the throttle of a process that starts who was right before, and from where, by the audit log: else a restart would
 * make strangers of everybody, and whoever guesses from behind the same router would keep the owner out.
 */
import { Slicer } from '../support/slicer.js'
import { REMEMBER_GOOD_MS } from './tallies.js'

/** A process takes note of at most so many names, each from one address: those of the newest logins. */
const MAX_PLACES = 20_000
/** So many logins are read at once. */
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
  const slicer = new Slicer()
  /** @type {Map<string, string[]>} by account; an empty list where that is gone */
  const names = new Map()
  /** @type {Set<string>} accounts with addresses */
  const seen = new Set()
  let remembered = 0
  /** @type {number | undefined} */
  let beforeId
  for (let isMore = true; isMore && remembered < MAX_PLACES;) {
    const page = { action: 'login', sinceMs, limit: PAGE_ROWS }
    const rows = await directory.pageAudit({ ...page, ...(beforeId && { beforeId }) })
    isMore = rows.length === PAGE_ROWS
    beforeId = rows.at(-1)?.id
    for (const { accountId, remoteAddress, atMs } of rows) {
      await slicer.breathe()
      if (signal.aborted) return
      const place = `${accountId} ${remoteAddress}`
      if (!accountId || !remoteAddress || seen.has(place)) continue
      const usernames = names.get(accountId) ?? (await namesOf(directory, accountId))
      names.set(accountId, usernames)
      if (usernames.length > 0) seen.add(place)
      for (const username of usernames) throttle.remember({ username, remoteAddress, atMs })
      remembered += usernames.length
    }
  }
}

/**
 * @param {Services['directory']} directory
 * @param {string} accountId
 * @returns {Promise<string[]>} its addresses
 */
async function namesOf(directory, accountId) {
  const account = await directory.findAccount(accountId)
  return account === null ? [] : [account.address, ...(await directory.listAliases(accountId))]
}
