/**
 * The search keys that a mailbox view answers from memory: flags, UIDs, sequence numbers, recent, MODSEQ, and dates and sizes
 * of which it keeps a column. Each becomes a test on a slot of the view, or on many in a row. RFC 3501 §6.4.4, RFC 7162 §3.1.5.
 */
import { MailError } from '../../errors.js'
import { compileKeptKey } from './kept-values.js'
import { columnOf } from './row-keys.js'
import { NO, YES } from './verdict-page.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */

/**
 * What the session that searches has told its client; the store knows no sessions, so it asks through this.
 *
 * @typedef {object} SelectedMessages
 * @property {number} messageCount - messages the client knows of; their sequence numbers are 1 … messageCount
 * @property {number} maxUid - the highest UID among them, 0 when there are none
 * @property {(sequence: number) => number} slotOfSequence - -1 when there is no such message
 * @property {(slot: number) => number} sequenceOfSlot - 0 for a message the client knows as gone, or not yet
 * @property {(slot: number) => boolean} isRecent
 * @property {boolean} hasOwnFlags - whether it was told flags that the view does not have yet
 * @property {(slot: number) => number} flagsOf - as in `view.flags`, with those applied
 */

/** @typedef {{ from: number, to: number }} NumberRange */

/**
 * @typedef {object} ViewContext
 * @property {MailboxView} view
 * @property {SelectedMessages} selected
 * @property {(name: string) => FlagBit | null} findFlag - null for a keyword that no message can have
 * @property {number} nowSeconds - YOUNGER and OLDER count from it
 */

/** @typedef {{ word: 'flags' | 'keywords', mask: number }} FlagBit */

/**
 * A key for one message and for a page of them.
 *
 * @typedef {object} ViewTest
 * @property {(slot: number) => boolean} test
 * @property {(first: number, target: Uint8Array) => void} fill - writes YES or NO for `first` and the slots behind it
 */

/**
 * @param {SearchKey} key - of the view's stage (see plan.js)
 * @param {ViewContext} context
 * @returns {ViewTest}
 * @throws {MailError} CANNOT for a key of another stage
 */
export function compileViewKey(key, { view, selected, findFlag, nowSeconds }) {
  switch (key.op) {
    case 'flag':
      return flagTest(view, selected, findFlag(key.flag), key.isSet)
    case 'recent':
      return eachTest((slot) => selected.isRecent(slot))
    case 'uid':
      return rangesTest(
        key.set.resolve(selected.maxUid).map(({ from, to }) => ({
          from: view.lowerBound(from),
          to: view.lowerBound(to + 1) - 1
        }))
      )
    case 'sequence':
      return rangesTest(slotRanges(key.set.resolve(selected.messageCount), selected))
    case 'modseq': {
      const value = Number(key.value)
      return eachTest((slot) => /** @type {number} */ (view.modSeqs[slot]) >= value)
    }
    default:
      if (columnOf(key) !== null) return compileKeptKey(key, view, nowSeconds)
      throw new MailError('CANNOT', { detail: `search key ${key.op}` })
  }
}

/**
 * @param {MailboxView} view
 * @param {SelectedMessages} selected
 * @param {FlagBit | null} bit
 * @param {boolean} isSet
 * @returns {ViewTest}
 */
function flagTest(view, selected, bit, isSet) {
  if (bit === null) return eachTest(() => !isSet)
  const { word, mask } = bit
  if (word === 'flags' && selected.hasOwnFlags)
    return eachTest((slot) => ((selected.flagsOf(slot) & mask) !== 0) === isSet)
  // The arrays are looked up each time: the view replaces them when it grows.
  return {
    test: (slot) => {
      const bits = /** @type {number} */ (view[word][slot])
      return ((bits & mask) !== 0) === isSet
    },
    fill: (first, target) => {
      const words = view[word]
      const [whenSet, otherwise] = isSet ? [YES, NO] : [NO, YES]
      for (let at = 0; at < target.length; at++) {
        const bits = /** @type {number} */ (words[first + at])
        target[at] = (bits & mask) !== 0 ? whenSet : otherwise
      }
    }
  }
}

/**
 * @param {(slot: number) => boolean} test
 * @returns {ViewTest}
 */
const eachTest = (test) => ({
  test,
  fill: (first, target) => {
    for (let at = 0; at < target.length; at++) target[at] = test(first + at) ? YES : NO
  }
})

/**
 * @param {NumberRange[]} ranges - of slots, ascending, apart; some may be empty
 * @returns {ViewTest}
 */
const rangesTest = (ranges) => ({
  test: (slot) => (ranges[firstNotBelow(ranges, slot)]?.from ?? Infinity) <= slot,
  fill: (first, target) => {
    target.fill(NO)
    const end = first + target.length
    for (let at = firstNotBelow(ranges, first); at < ranges.length; at++) {
      const { from, to } = /** @type {NumberRange} */ (ranges[at])
      if (from >= end) break
      target.fill(YES, Math.max(0, from - first), Math.max(0, to + 1 - first))
    }
  }
})

/**
 * Sequence numbers grow with the slots, so a range of them is a range of slots (with messages in between that the
 * client knows as gone: those are no candidates anyway).
 *
 * @param {NumberRange[]} ranges - sequence numbers
 * @param {SelectedMessages} selected
 * @returns {NumberRange[]} slots
 */
function slotRanges(ranges, selected) {
  return ranges
    .filter(({ from }) => from <= selected.messageCount)
    .map(({ from, to }) => ({
      from: selected.slotOfSequence(from),
      to: selected.slotOfSequence(Math.min(to, selected.messageCount))
    }))
}

/**
 * @param {NumberRange[]} ranges - ascending, apart
 * @param {number} value
 * @returns {number} place of the first range that does not end below the value
 */
function firstNotBelow(ranges, value) {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {NumberRange} */ (ranges[middle]).to < value) low = middle + 1
    else high = middle
  }
  return low
}
