/**
 * FETCH responses of numbers and flags alone, as clients ask for whole mailboxes and as changes of flags are told: one
 * short loop over the arrays of the view, which is compiled before the first long answer has gone far.
 */

/** @import { KeywordTable } from '../../store/flags.js' */
/** @import { FetchWriter } from '../protocol/compile/fetch.js' */
/** @import { FlagLine } from './fetch-plan.js' */
/** @import { SelectedMailbox } from './selected-mailbox.js' */

/**
 * @param {SelectedMailbox} selected
 * @param {KeywordTable} keywords - the account's
 * @param {number} slot
 * @returns {string} the message's flags as they stand between the parentheses
 */
export function flagsText(selected, keywords, slot) {
  const words = /** @type {number} */ (selected.view.keywords[slot])
  return keywords.flagsWire(selected.flagsOf(slot), words, selected.isRecent(slot))
}

/**
 * Writes a line for each slot until there is enough to hand over.
 *
 * @param {object} options
 * @param {SelectedMailbox} options.selected
 * @param {KeywordTable} options.keywords - the account's
 * @param {FlagLine} options.line
 * @param {FetchWriter} options.writer
 * @param {number} options.enoughBytes - once the writer holds so many, no other line is written
 * @param {readonly number[]} slots - ones that the client sees, ascending
 * @param {number} start - index of the first that is written
 * @returns {number} index of the first that is not
 */
export function writeFlagLines(options, slots, start) {
  const { selected, keywords, line, writer, enoughBytes } = options
  const { withUid, withFlags, withModSeq } = line
  const { view, hasOwnFlags, hasPlainNumbers, hasRecent } = selected
  const end = slots.length
  // Most messages have the flags of the one before.
  let lastFlags = -1
  let lastKeywords = -1
  let wasRecent = false
  let item = null
  let next = start
  while (next < end) {
    const slot = /** @type {number} */ (slots[next++])
    const flagWord = /** @type {number} */ (view.flags[slot])
    const keywordWord = /** @type {number} */ (view.keywords[slot])
    const isRecent = hasRecent && selected.isRecent(slot)
    const isSame = flagWord === lastFlags && keywordWord === lastKeywords && isRecent === wasRecent
    if (withFlags && (hasOwnFlags || !isSame)) {
      item = writer.flagItem(flagsText(selected, keywords, slot))
      lastFlags = flagWord
      lastKeywords = keywordWord
      wasRecent = isRecent
    }
    const length = writer.flagLine(
      hasPlainNumbers ? slot + 1 : selected.sequenceOfSlot(slot),
      withUid ? /** @type {number} */ (view.uids[slot]) : -1,
      item,
      withModSeq ? /** @type {number} */ (view.modSeqs[slot]) : -1
    )
    if (length >= enoughBytes) break
  }
  return next
}
