/**
 * From the set that a command names to messages of the selected mailbox.
 */
import { MailError } from '../../errors.js'
import { badSyntax } from '../protocol/syntax-failure.js'

/** @import { SequenceSet } from '../protocol/values/sequence-set.js' */
/** @import { SelectedMailbox } from './selected-mailbox.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** So many slots are visited between two looks at the clock. */
const STEP_SLOTS = 4096

/**
 * @param {SelectedMailbox} selected
 * @param {SequenceSet} set
 * @param {boolean} isUid
 * @param {number | null} [sinceModSeq] - only messages whose MODSEQ is above it
 * @returns {{ slots: number[], isSomeExpunged: boolean }}
 * @throws {import('../protocol/syntax-failure.js').SyntaxFailure} for a sequence number that does not exist, as
 *   RFC 3501 §9 asks (seq-number); a UID that does not exist is no error (RFC 3501 §6.4.8)
 */
export function slotsOf(selected, set, isUid, sinceModSeq = null) {
  const { slots, isSomeExpunged, isOutOfRange } = selected.resolve(set, isUid, sinceModSeq)
  if (isOutOfRange) throw badSyntax('There is no message of that number')
  return { slots, isSomeExpunged }
}

/**
 * @param {SelectedMailbox} selected - held by the caller
 * @param {SequenceSet} set
 * @param {boolean} isUid
 * @param {Slicer} slicer
 * @returns {Promise<{ slots: number[], uids: number[], isSomeExpunged: boolean }>} slots and UIDs are parallel, ascending
 * @throws {import('../protocol/syntax-failure.js').SyntaxFailure} as `slotsOf`
 */
export async function uidsOf(selected, set, isUid, slicer) {
  const { slots, isSomeExpunged } = slotsOf(selected, set, isUid)
  /** @type {number[]} */
  const uids = []
  for (let start = 0; start < slots.length; start += STEP_SLOTS) {
    if (slicer.isSpent) await slicer.breathe()
    const { uids: uidOf } = selected.view
    const end = Math.min(start + STEP_SLOTS, slots.length)
    for (let index = start; index < end; index++)
      uids.push(/** @type {number} */ (uidOf[/** @type {number} */ (slots[index])]))
  }
  return { slots, uids, isSomeExpunged }
}

/**
 * Finds the messages that COPY and MOVE are to take, all or none: a message that has a number but is gone cannot be taken, and a
 * part of the set must not be (RFC 3501 §6.4.7). From `$` an expunged message has gone by itself (RFC 5182 §2.1).
 *
 * @param {SelectedMailbox} selected
 * @param {SequenceSet} set
 * @param {boolean} isUid
 * @param {Slicer} slicer
 * @returns {Promise<{ uids: number[], isExact: boolean }>} `isExact`: one that another session expunges meanwhile counts as well
 * @throws {MailError | import('../protocol/syntax-failure.js').SyntaxFailure} MESSAGE_GONE; as `slotsOf`
 */
export async function uidsToTransfer(selected, set, isUid, slicer) {
  const { uids, isSomeExpunged } = await uidsOf(selected, set, isUid, slicer)
  const isExact = !isUid && !set.isSearchResult
  if (isSomeExpunged && isExact) throw new MailError('MESSAGE_GONE')
  return { uids, isExact }
}
