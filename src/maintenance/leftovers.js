/**
 * At the start of the server, and once more an hour later: removes what killed processes have left, their sockets, half-written
 * deliveries in every account's spool and half-written copies of mailbox files. Needs no key. In the background, one account at a
 * time.
 */
import { join } from 'node:path'
import { isMailError } from '../errors.js'
import { mailFile } from '../database/database-files.js'
import { withExclusiveLock } from '../database/lock.js'
import { hasLeftCopy, removeLeftCopy } from '../database/rewrite.js'
import { hasLeftRepair, removeLeftRepair } from '../store/salvage/repair-file.js'
import { cleanSpoolLeftovers } from '../delivery/spool.js'
import { removeAbandonedSockets } from '../support/unix-socket.js'

/**
 * After so many ms it is looked once more: what a process has left that was killed just before this one began is too young at
 * first, and may be gigabytes. Then it is an hour old, and goes.
 */
const AGAIN_MS = 61 * 60_000

/** Accounts that are asked for at once: a list of all of them would hold up the event loop of a server that has just begun. */
const PAGE_ACCOUNTS = 200

/**
 * @param {import('../accounts/services.js').AccountServices['directory']} directory
 * @yields {{ id: string, folder: string }}
 */
async function* allFolders(directory) {
  for (let afterId = '', isMore = true; isMore;) {
    const page = await directory.pageFolders({ afterId, limit: PAGE_ACCOUNTS })
    yield* page
    afterId = page.at(-1)?.id ?? ''
    isMore = page.length === PAGE_ACCOUNTS
  }
}

/**
 * @param {object} options
 * @param {Pick<import('../accounts/services.js').AccountServices, 'config' | 'directory' | 'clock' | 'logger'>} options.services
 * @returns {{ stop: () => Promise<void>, done: Promise<number> }} `done` gives the number of files removed at first
 */
export function cleanLeftovers({ services }) {
  const { config, directory, clock, logger } = services
  let isStopped = false
  const look = async () => {
    let removed = 0
    try {
      removed += await removeAbandonedSockets(join(config.data, 'run'), clock.nowMs())
    } catch (err) {
      logger.warn({ err }, 'the sockets of processes that are gone could not be removed')
    }
    for await (const { id, folder: stored } of allFolders(directory)) {
      if (isStopped) break
      const folder = join(config.data, stored)
      try {
        removed += await cleanSpoolLeftovers({ spoolFolder: join(folder, 'spool'), clock })
        removed += await cleanCopy(folder)
      } catch (err) {
        // Leftovers that stay do no harm; the other accounts are looked at all the same.
        logger.warn({ accountId: id, err }, 'leftovers could not be removed')
      }
    }
    if (removed > 0) logger.info({ removed }, 'leftovers removed')
    return removed
  }
  const run = () =>
    look().catch((err) => {
      logger.error({ err }, 'leftovers could not be looked for')
      return 0
    })
  const done = run()
  let last = done
  const timer = setTimeout(() => (last = run()), AGAIN_MS).unref()
  return {
    done,
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await last
    }
  }
}

/**
 * @param {string} folder - of an account
 * @returns {Promise<number>} copies that are gone
 */
async function cleanCopy(folder) {
  const path = mailFile(folder)
  if (!(await hasLeftCopy(path)) && !(await hasLeftRepair(folder))) return 0
  try {
    return await withExclusiveLock(folder, { timeoutMs: 0 }, async () => {
      const gone = [await removeLeftCopy(path), await removeLeftRepair(folder)]
      return gone.filter(Boolean).length
    })
  } catch (error) {
    // Somebody has the mailbox open, or is making that very copy: another start will see.
    if (isMailError(error, 'BUSY')) return 0
    throw error
  }
}
