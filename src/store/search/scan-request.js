/**
 * What a search gives to the thread: its key, and for each message that is still open what the view has said.
 */
import { countBelow } from '../../support/count-below.js'
import { indexedLeaves } from './index-answers.js'
import { judgedAtOnce, STAGE } from './plan.js'
import { NO, YES } from './verdict-page.js'

/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {import('./resolve.js').Candidates} Candidates */

/**
 * @typedef {object} PackedCandidates
 * @property {Uint32Array} uids - ascending
 * @property {Float64Array} contentIds - of the same messages; empty when the index cannot be asked anything
 * @property {Uint8Array} verdicts - of the leaves of the view's stage, a bit each, in whole bytes a message
 *
 * @typedef {object} ScanKey
 * @property {number} mailboxId
 * @property {import('../../imap/protocol/values/search-key.js').SearchKey} key
 * @property {number} nowSeconds - YOUNGER and OLDER count from it
 * @property {ReadonlySet<import('./plan.js').ColumnKey>} kept - columns with which it was planned
 *
 * @typedef {ScanKey & PackedCandidates} ScanRequest
 */

/** What the one who asks tells a search that is under way: nothing yet. */
export const GO_ON = 0
/** To end, in whatever way. */
export const STOP = 1
/** To give back what it has not looked at. */
export const PAUSE = 2

/** Messages between two looks at the clock: some 100 µs of work. */
const STEP_MESSAGES = 1024

/**
 * @param {Plan} plan
 * @returns {LeafNode[]} whose verdicts only the view can tell
 */
const viewLeaves = ({ leaves }) => leaves.filter(({ stage }) => stage === STAGE.VIEW)

/**
 * @param {Plan} plan
 * @param {Candidates} candidates
 * @param {number[]} open - indexes of those that are to be packed, in any order; put in order
 * @param {() => Promise<void>} breathe - called every now and then
 * @returns {Promise<PackedCandidates>}
 */
export async function packCandidates(plan, candidates, open, breathe) {
  const leaves = viewLeaves(plan)
  const hasContents = indexedLeaves(plan).length > 0
  if (hasContents) await candidates.learnContents(breathe)
  const contentIds = new Float64Array(hasContents ? open.length : 0)
  const stride = Math.ceil(leaves.length / 8)
  const step = judgedAtOnce(plan, STEP_MESSAGES)
  const uids = new Uint32Array(open.length)
  const verdicts = new Uint8Array(open.length * stride)
  open.sort((left, right) => left - right)
  for (const [place, index] of open.entries()) {
    if (place % step === 0) await breathe()
    uids[place] = candidates.uidAt(index)
    if (hasContents) contentIds[place] = candidates.contentIdAt(index)
    for (const [bit, leaf] of leaves.entries()) {
      if (!candidates.viewVerdict(leaf, index)) continue
      const at = place * stride + (bit >> 3)
      verdicts[at] = /** @type {number} */ (verdicts[at]) | (1 << (bit & 7))
    }
  }
  return { uids, contentIds, verdicts }
}

/**
 * @param {Plan} plan - of the same key
 * @param {PackedCandidates} packed
 * @returns {Candidates}
 */
export function unpackCandidates(plan, { uids, contentIds, verdicts }) {
  const leaves = viewLeaves(plan)
  const stride = Math.ceil(leaves.length / 8)
  const bits = new Map(leaves.map((leaf, bit) => [leaf.index, bit]))
  /** @type {Candidates['viewVerdict']} */
  const viewVerdict = (leaf, index) => {
    const bit = bits.get(leaf.index) ?? 0
    return (((verdicts[index * stride + (bit >> 3)] ?? 0) >> (bit & 7)) & 1) === 1
  }
  return {
    length: uids.length,
    uidAt: (index) => uids[index] ?? 0,
    knowsContents: true,
    learnContents: async () => {},
    contentIdAt: (index) => contentIds[index] ?? 0,
    indexOf: (uid) => {
      const index = countBelow(uids, uid)
      return uids[index] === uid ? index : -1
    },
    viewVerdict,
    fillVerdicts: (leaf, first, target) => {
      for (let at = 0; at < target.length; at++)
        target[at] = viewVerdict(leaf, first + at) ? YES : NO
    },
    // Only what there is was packed.
    dropNone: () => {}
  }
}
