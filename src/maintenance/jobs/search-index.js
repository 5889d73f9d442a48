/**
 * Takes into the search index what is not in it yet, and writes it anew when much of what it knows has gone.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { isMailError } from '../../errors.js'
import { counted } from '../../support/format.js'

/** Two processes that index one mailbox give way to each other: a job that an operator asked for is tried at most so often … */
const TRIES = 8
/** … first after so many ms, and twice as many each time: meanwhile the other process comes to its end. */
const FIRST_PAUSE_MS = 250

/**
 * @param {import('../../store/account-store.js').AccountStore} store
 * @returns {Promise<{ waiting: number, deleted: number }>}
 */
async function figures(store) {
  const { waiting, deleted } = await store.upkeep.readIndexNeeds()
  return { waiting, deleted }
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<false>}
 */
function aborted(signal) {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true })
  })
}

/**
 * @param {import('../../store/account-store.js').AccountStore} store
 * @param {{ tries: number, signal: AbortSignal }} options
 * @returns {Promise<void>}
 * @throws {import('../../errors.js').MailError} as `indexSearch`; BUSY where another process was faster each time
 */
async function index(store, { tries, signal }) {
  for (let failed = 1; ; failed++) {
    try {
      return await store.indexSearch()
    } catch (error) {
      if (!isMailError(error, 'BUSY') || failed === tries) throw error
      const pauseMs = FIRST_PAUSE_MS * 2 ** (failed - 1)
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) throw error
    }
  }
}

/** @type {import('../job.js').MaintenanceJob} */
export const searchIndex = {
  name: 'search-index',
  intervalMs: () => 0,
  async wants({ store }) {
    const { waiting, deleted, isWorthMerging, hasRest } = await store.upkeep.readIndexNeeds()
    if (waiting > 0) return counted(waiting, 'content waits', 'contents wait')
    if (isWorthMerging) return counted(deleted, 'content has gone', 'contents have gone')
    return hasRest ? 'parts of an older index' : null
  },
  async run({ store, signal, isRequested }) {
    const before = await figures(store)
    if (signal.aborted) return { result: 'stopped' }
    const indexing = index(store, { tries: isRequested ? TRIES : 1, signal })
    const hasEnded = await Promise.race([indexing.then(() => true), aborted(signal)])
    if (!hasEnded) {
      // Indexing goes on by itself for as long as the store is open, and the next opener goes on with the rest.
      indexing.catch(() => {})
      return { result: 'stopped', before }
    }
    return { result: 'done', before, after: await figures(store) }
  }
}
