/**
 * The search keys that a mailbox view answers from memory: flags, UIDs, sequence numbers, recent, MODSEQ. Each becomes
 * a test on a slot of the view. RFC 3501 §6.4.4, RFC 7162 §3.1.5.
 */
import { MailError } from '../../errors.js'

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
 */

/** @typedef {{ from: number, to: number }} NumberRange */

/**
 * @typedef {object} ViewContext
 * @property {MailboxView} view
 * @property {SelectedMessages} selected
 * @property {(name: string) => FlagBit | null} findFlag - null for a keyword that no message can have
 */

/** @typedef {{ word: 'flags' | 'keywords', mask: number }} FlagBit */

/**
 * @param {SearchKey} key - of the view's stage (see plan.js)
 * @param {ViewContext} context
 * @returns {(slot: number) => boolean}
 * @throws {MailError} CANNOT for a key of another stage
 */
export function compileViewKey(key, { view, selected, findFlag }) {
  switch (key.op) {
    case 'flag': {
      const bit = findFlag(key.flag)
      const isSet = key.isSet
      if (bit === null) return () => !isSet
      const { word, mask } = bit
      return (slot) => {
        // The arrays are looked up each time: the view replaces them when it grows.
        const bits = /** @type {number} */ (view[word][slot])
        return ((bits & mask) !== 0) === isSet
      }
    }
    case 'recent':
      return (slot) => selected.isRecent(slot)
    case 'uid': {
      const ranges = key.set.resolve(selected.maxUid)
      return (slot) => isInRanges(ranges, /** @type {number} */ (view.uids[slot]))
    }
    case 'sequence': {
      const ranges = slotRanges(key.set.resolve(selected.messageCount), selected)
      return (slot) => isInRanges(ranges, slot)
    }
    case 'modseq': {
      const value = Number(key.value)
      return (slot) => /** @type {number} */ (view.modSeqs[slot]) >= value
    }
    default:
      throw new MailError('CANNOT', { detail: `search key ${key.op}` })
  }
}

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
 * @returns {boolean}
 */
function isInRanges(ranges, value) {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {NumberRange} */ (ranges[middle]).to < value) low = middle + 1
    else high = middle
  }
  const range = ranges[low]
  return range !== undefined && range.from <= value
}
