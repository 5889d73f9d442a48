/**
 * STORE: flags of messages. Of few in a transaction with others like it, of many in one for each page.
 */
import { FLAG_PAGE } from './flag-queue.js'
import { changeFlagRows, hasChanged } from './flag-rows.js'
import { inPages } from './in-pages.js'

/**
 * @typedef {import('./flag-masks.js').FlagAction} FlagAction
 *
 * @typedef {object} FlagRequest
 * @property {import('./mailbox-view.js').MailboxView} view
 * @property {readonly number[]} uids - ascending; those that are gone are left out
 * @property {FlagAction} action
 * @property {readonly string[]} flags
 * @property {number | null} [unchangedSince] - RFC 7162 §3.1.3
 * @property {unknown} [origin] - comes back in the change record
 * @property {boolean} [isLazy] - for an implicit \Seen: resolves after COMMIT. The views are told, as always, when it
 *   is on the disk
 *
 * @typedef {object} FlagOutcome
 * @property {number} changedCount - messages whose flags are different now
 * @property {number[]} failedUids - ascending; left alone because their modseq is above `unchangedSince` (RFC 7162 §3.1.3)
 * @property {number} modSeq - the mailbox's
 */

/** Messages in one transaction when they are a run, which is changed by one statement. */
const RUN_PAGE = 8000

/**
 * @param {object} store
 * @param {import('./account-database.js').AccountDatabase} store.database
 * @param {import('./views.js').ViewKeeper} store.views
 * @param {import('./account-keywords.js').AccountKeywords} store.keywords
 * @param {import('./flag-queue.js').FlagQueue} store.flagQueue
 * @param {FlagRequest} request
 * @returns {Promise<FlagOutcome>}
 */
export async function changeFlags({ database, views, keywords, flagQueue }, request) {
  const { view, uids, action, flags, origin = null, isLazy = false } = request
  const { unchangedSince = null } = request
  const { mailboxId } = view
  database.requireWritable()
  const isRun = view.isRun(uids)
  // A lazy one is over after COMMIT, which those in the queue are not.
  if (uids.length > 0 && uids.length <= FLAG_PAGE && !isLazy) {
    const change = { mailboxId, uids, isRun, action, flags, unchangedSince, origin }
    const { changedCount, failedUids, modSeq } = await flagQueue.change(change)
    return { changedCount, failedUids, modSeq }
  }
  /** @type {FlagOutcome} */
  const outcome = { changedCount: 0, failedUids: [], modSeq: view.highestModSeq }
  const pages = await inPages(
    uids,
    {
      pageSize: isRun && unchangedSince === null ? RUN_PAGE : FLAG_PAGE,
      // A keyword that is new has its number once the first page is through.
      mayOverlap: () => flags.every((name) => keywords.table.find(name))
    },
    (page) => {
      const { table } = keywords
      return database.write(
        (db) =>
          changeFlagRows(db, {
            mailboxId,
            uids: page,
            isRun,
            action,
            flags,
            unchangedSince,
            keywords: keywords.table
          }),
        {
          isChange: (result) => hasChanged(result, table),
          onDurable: ({ changedCount, modSeq, change, keywords: grown }) => {
            keywords.adopt(grown)
            if (changedCount > 0) return views.publish({ mailboxId, modSeq, origin, ...change })
          },
          isLazy
        }
      )
    }
  )
  for (const { changedCount, failedUids, modSeq } of pages) {
    outcome.changedCount += changedCount
    for (const uid of failedUids) outcome.failedUids.push(uid)
    outcome.modSeq = modSeq
  }
  return outcome
}
