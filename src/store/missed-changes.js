/**
 * What a view has missed, made ready in slices: to apply it is one piece, because nobody may see a part of it.
 */
import { readExpungedSince } from './expunged-log.js'
import { readAllRows } from './view-rows.js'

/**
 * @typedef {import('../support/slicer.js').Slicer} Slicer
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
 *
 * @typedef {object} Missed
 * @property {ViewRow[]} appended - by UID
 * @property {ViewRow[]} updated - by UID
 * @property {Map<number, ViewRow[]>} own - those of the changes of our own, by their modseq
 */

/** Rows or ranges between two looks at the clock: below a millisecond. */
const STEP = 1024

/**
 * What others wrote after the mailbox's own row was read is left to the next reading. They may have written something before
 * it, into a page that had been read already: a client that learned the later MODSEQ now would never ask for the earlier
 * change. New messages must come in their order, also where they have changed since: these are told now with the mailbox's
 * MODSEQ, and once more by the next reading.
 *
 * @param {readonly ViewRow[]} rows - by UID, that have changed
 * @param {object} known
 * @param {number} known.lastUid - of the view
 * @param {number} known.modSeq - of the mailbox
 * @param {Iterable<number>} known.own - modseqs of changes of our own
 * @param {Slicer} slicer
 * @returns {Promise<Missed>}
 */
export async function sortChanges(rows, { lastUid, modSeq, own: ownModSeqs }, slicer) {
  /** @type {Missed} */
  const missed = { appended: [], updated: [], own: new Map() }
  const { appended, updated, own } = missed
  for (const ownModSeq of ownModSeqs) own.set(ownModSeq, [])
  for (const [nth, row] of rows.entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    const ownRows = own.get(row.modSeq)
    ownRows?.push(row)
    const isLater = row.modSeq > modSeq && ownRows === undefined
    if (row.uid > lastUid) appended.push(isLater ? { ...row, modSeq } : row)
    else if (!isLater) updated.push(row)
  }
  return missed
}

/**
 * What has been expunged above a modseq. If that is no longer known one by one, every message of the view is
 * looked for.
 *
 * @param {import('./account-database.js').AccountDatabase} database
 * @param {object} missing
 * @param {MailboxView} missing.view
 * @param {MailboxRow} missing.mailbox
 * @param {number} missing.since
 * @param {Slicer} slicer
 * @returns {Promise<number[]>} UIDs, ascending
 */
export async function readMissedExpunges(database, { view, mailbox, since }, slicer) {
  const { isComplete, ranges } = await readExpungedSince(database, mailbox.id, since)
  if (!isComplete) return await lookForAll(database, view, mailbox)
  const expunged = []
  for (const [nth, { first, last }] of ranges.entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    for (let slot = view.lowerBound(first); slot < view.length; slot++) {
      const uid = /** @type {number} */ (view.uids[slot])
      if (uid > last) break
      expunged.push(uid)
    }
  }
  return expunged
}

/**
 * @param {import('./account-database.js').AccountDatabase} database
 * @param {MailboxView} view
 * @param {MailboxRow} mailbox
 * @returns {Promise<number[]>} UIDs of the view that are not in the mailbox, ascending
 */
async function lookForAll(database, view, mailbox) {
  // Slots that are dropped meanwhile would move the others.
  const uids = view.uids.slice(0, view.length)
  /** @type {number[]} */
  const gone = []
  let at = 0
  const passTo = (/** @type {number} */ present) => {
    for (; at < uids.length; at++) {
      const uid = /** @type {number} */ (uids[at])
      if (uid >= present) break
      gone.push(uid)
    }
  }
  const append = (/** @type {number} */ present) => {
    passTo(present)
    if (uids[at] === present) at++
  }
  await readAllRows(database, mailbox, { append })
  passTo(Infinity)
  return gone
}
