/**
 * STORE: flags of messages, a transaction for each page.
 */
import { changeFlagRows } from './flag-rows.js'
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

/** Messages in one transaction: 6 to 9 ms, one by one, where each stands on a page of its own. */
const FLAG_PAGE = 1000

/** And when they are a run, which is changed by one statement. */
const RUN_PAGE = 8000

/**
 * @param {object} store
 * @param {import('./account-database.js').AccountDatabase} store.database
 * @param {import('./views.js').ViewKeeper} store.views
 * @param {import('./account-keywords.js').AccountKeywords} store.keywords
 * @param {FlagRequest} request
 * @returns {Promise<FlagOutcome>}
 */
export async function changeFlags({ database, views, keywords }, request) {
  const { view, uids, action, flags, origin = null, isLazy = false } = request
  const { unchangedSince = null } = request
  const { mailboxId } = view
  database.requireWritable()
  const isRun = view.isRun(uids)
  /** @type {FlagOutcome} */
  const outcome = { changedCount: 0, failedUids: [], modSeq: view.highestModSeq }
  const pages = await inPages(
    uids,
    {
      pageSize: isRun && unchangedSince === null ? RUN_PAGE : FLAG_PAGE,
      // A keyword that is new has its number once the first page is through.
      mayOverlap: () => flags.every((name) => keywords.table.find(name))
    },
    (page) =>
      database.write(
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
          onDurable: ({ changedCount, modSeq, change, keywords: grown }) => {
            keywords.adopt(grown)
            if (changedCount > 0) return views.publish({ mailboxId, modSeq, origin, ...change })
          },
          isLazy
        }
      )
  )
  for (const { changedCount, failedUids, modSeq } of pages) {
    outcome.changedCount += changedCount
    for (const uid of failedUids) outcome.failedUids.push(uid)
    outcome.modSeq = modSeq
  }
  return outcome
}
