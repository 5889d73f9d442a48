/**
 * How the change of one transaction gets into a view.
 */
import { masked } from './flag-masks.js'

/**
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
 * @typedef {import('./mailbox-view.js').ChangeRecord} ChangeRecord
 *
 * @typedef {object} MaskedRun
 * @property {number} first - UID
 * @property {number} last - UID, inclusive
 * @property {import('./flag-masks.js').FlagMasks} masks
 *
 * @typedef {object} ViewChange - one transaction's change of one mailbox
 * @property {number} mailboxId
 * @property {number} modSeq - the mailbox's after it
 * @property {Iterable<ViewRow>} [appended] - by UID; may be gone over more than once
 * @property {import('./mailbox-view.js').ViewColumns} [copied] - appended as well
 * @property {ViewRow[]} [updated] - by UID
 * @property {import('./flag-masks.js').FlagMasks} [masks] - that have made `updated` from the rows before
 * @property {MaskedRun} [masked] - flags of a run of messages
 * @property {ArrayLike<number>} [expunged] - UIDs, ascending
 * @property {unknown} [origin] - who did it
 */

/**
 * @param {MailboxView} view
 * @param {readonly ViewRow[]} rows
 * @returns {number[]} slots that have changed, ascending
 */
export function updateSlots(view, rows) {
  const slots = []
  let slot = -1
  for (const row of rows) {
    // Of very many most follow each other, and to search for each of them would take half the time.
    slot = view.uids[slot + 1] === row.uid ? slot + 1 : view.slotOf(row.uid)
    if (slot >= 0 && view.update(slot, row)) slots.push(slot)
  }
  return slots
}

/**
 * @param {import('./flag-masks.js').FlagMasks} masks
 * @param {MailboxView} view - as it was before
 * @param {ViewRow} row
 * @returns {boolean} whether the masks make the row of what the view has
 */
export function isMadeBy({ keepFlags, putFlags, keepKeywords, putKeywords }, view, row) {
  const slot = view.slotOf(row.uid)
  return (
    row.flags === masked(view.flags[slot] ?? 0, keepFlags, putFlags) &&
    row.keywords === masked(view.keywords[slot] ?? 0, keepKeywords, putKeywords)
  )
}

/**
 * Published as one: between two records the view might drop tombstones and renumber the slots of the second.
 *
 * @param {MailboxView} view
 * @param {ViewChange} change
 */
export function applyChange(view, change) {
  const { modSeq, appended = [], copied, updated = [], expunged = [], origin = null } = change

  /** @type {ChangeRecord[]} */
  const records = []
  const fromSlot = view.length
  for (const row of appended) view.append(row.uid, row.modSeq, row.flags, row.keywords)
  if (copied) view.appendColumns(copied)
  if (view.length > fromSlot) records.push({ kind: 'append', fromSlot, toSlot: view.length })
  const changed = change.masked ? view.mask(change.masked, modSeq) : updateSlots(view, updated)
  if (changed.length > 0) records.push({ kind: 'flags', slots: changed, origin })
  const buried = view.buryAll(expunged)
  if (buried.length > 0)
    records.push({ kind: 'expunge', slots: buried, after: view.highestModSeq, origin })
  view.highestModSeq = Math.max(view.highestModSeq, modSeq)
  if (records.length > 0) view.publish(records)
}
