/**
 * From the set that a command names to messages of the selected mailbox.
 */
import { badSyntax } from '../protocol/syntax-failure.js'

/** @import { SequenceSet } from '../protocol/values/sequence-set.js' */
/** @import { SelectedMailbox } from './selected-mailbox.js' */

/**
 * @param {SelectedMailbox} selected
 * @param {SequenceSet} set
 * @param {boolean} isUid
 * @returns {{ slots: number[], isSomeExpunged: boolean }}
 * @throws {import('../protocol/syntax-failure.js').SyntaxFailure} for a sequence number that does not exist, as
 *   RFC 3501 §9 asks (seq-number); a UID that does not exist is no error (RFC 3501 §6.4.8)
 */
export function slotsOf(selected, set, isUid) {
  const { slots, isSomeExpunged, isOutOfRange } = selected.resolve(set, isUid)
  if (isOutOfRange) throw badSyntax('There is no message of that number')
  return { slots, isSomeExpunged }
}

/**
 * @param {SelectedMailbox} selected
 * @param {SequenceSet} set
 * @param {boolean} isUid
 * @returns {{ slots: number[], uids: number[], isSomeExpunged: boolean }} slots and UIDs are parallel, ascending
 * @throws {import('../protocol/syntax-failure.js').SyntaxFailure} as `slotsOf`
 */
export function uidsOf(selected, set, isUid) {
  const { slots, isSomeExpunged } = slotsOf(selected, set, isUid)
  const { uids } = selected.view
  return { slots, uids: slots.map((slot) => /** @type {number} */ (uids[slot])), isSomeExpunged }
}
