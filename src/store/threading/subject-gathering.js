/**
 * Step 5 of THREAD=REFERENCES, RFC 5256 §3: threads with one base subject become one.
 */
import { Uint32List } from '../../support/uint32-list.js'
import { sortByKey } from '../sort/radix-sort.js'
import { EMPTY_RANK } from '../sort/text-ranks.js'
import { NONE } from './containers.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { Containers } from './containers.js' */

/**
 * @typedef {object} SubjectGroups
 * @property {Uint32Array} heads - that share their subject with others: those of one subject together, by date
 * @property {Uint32Array} ends - for each subject, where its heads end
 */

/**
 * @typedef {object} Gathering
 * @property {SubjectGroups} groups
 * @property {Containers} containers - changed
 * @property {(head: number) => boolean} isReply - false for a dummy
 * @property {Uint32Array} byDate - all messages
 */

/** Threads between two looks at the clock: below a millisecond. */
const STEP_THREADS = 4096

/**
 * @param {Uint32Array} heads - by date
 * @param {(head: number) => number} subjectOf - rank of its base subject
 * @param {number} end - above all heads
 * @param {Slicer} slicer
 * @returns {Promise<SubjectGroups>}
 */
export async function groupBySubject(heads, subjectOf, end, slicer) {
  const subjects = new Uint32Array(end)
  for (let nth = 0; nth < heads.length; nth++) {
    if (nth % STEP_THREADS === 0) await slicer.breathe()
    const head = /** @type {number} */ (heads[nth])
    subjects[head] = subjectOf(head)
  }
  const sorted = await sortByKey(heads.slice(), subjects, false, slicer)
  const subjectAt = (/** @type {number} */ nth) => subjects[sorted[nth] ?? NONE]
  const grouped = new Uint32List()
  const ends = new Uint32List()
  let nextBreath = 0
  for (let nth = 0, next; nth < sorted.length; nth = next) {
    if (nth >= nextBreath) {
      nextBreath = nth + STEP_THREADS
      await slicer.breathe()
    }
    const subject = subjectAt(nth)
    for (next = nth + 1; subjectAt(next) === subject;) next++
    if (next - nth === 1 || subject === EMPTY_RANK) continue
    for (let at = nth; at < next; at++) grouped.push(/** @type {number} */ (sorted[at]))
    ends.push(grouped.length)
  }
  return { heads: grouped.toArray(), ends: ends.toArray() }
}

/**
 * @param {Uint32Array} heads - by date
 * @param {Gathering} gathering
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} the heads that are left, and new ones, in no order
 */
export async function gatherBySubject(heads, gathering, slicer) {
  const { groups, containers, isReply } = gathering
  const isBelow = new Uint8Array(containers.end)
  const isChanged = new Uint8Array(containers.end)
  const left = new Uint32List(heads.length)
  let start = 0
  for (let nth = 0; nth < groups.ends.length; nth++) {
    const end = /** @type {number} */ (groups.ends[nth])
    const chosen = choose(gathering, start, end)
    let top = chosen
    for (let at = start; at < end; at++) {
      if (at % STEP_THREADS === 0) await slicer.breathe()
      const head = /** @type {number} */ (groups.heads[at])
      if (head === chosen) continue
      isBelow[head] = 1
      if (containers.isDummy(top) && containers.isDummy(head)) containers.moveChildren(head, top)
      else if (containers.isDummy(top) || (isReply(head) && !isReply(top)))
        containers.addChild(top, head)
      else {
        // Its subject is that of its first child.
        top = containers.create()
        containers.addChild(top, chosen)
        containers.addChild(top, head)
        isBelow[chosen] = 1
        left.push(top)
      }
    }
    // Below a new dummy they come by date: all before `chosen` are replies, which have gone below that.
    isChanged[chosen] = 1
    start = end
  }
  await sortChildren(gathering, isChanged, slicer)
  for (let nth = 0; nth < heads.length; nth++) {
    if (nth % STEP_THREADS === 0) await slicer.breathe()
    const head = /** @type {number} */ (heads[nth])
    if (!isBelow[head]) left.push(head)
  }
  return left.toArray()
}

/**
 * Steps 5.A and 5.B.
 *
 * @param {Gathering} gathering
 * @param {number} start - of the heads of one subject
 * @param {number} end
 * @returns {number} the one that the others come to
 */
function choose({ groups, containers, isReply }, start, end) {
  let chosen = NONE
  for (let at = start; at < end; at++) {
    const head = /** @type {number} */ (groups.heads[at])
    const isBetter =
      chosen === NONE ||
      (!containers.isDummy(chosen) &&
        (containers.isDummy(head) || (isReply(chosen) && !isReply(head))))
    if (isBetter) chosen = head
  }
  return chosen
}

/**
 * Step 6 for messages that have come below others. All else lies by date.
 *
 * @param {Gathering} gathering
 * @param {Uint8Array} isChanged - by container: whether others have come below it in any order
 * @param {Slicer} slicer
 */
async function sortChildren({ containers, byDate }, isChanged, slicer) {
  for (let parent = 0; parent < isChanged.length; parent++) {
    if (parent % STEP_THREADS === 0) await slicer.breathe()
    if (isChanged[parent]) containers.clearChildren(parent)
  }
  for (let nth = 0; nth < byDate.length; nth++) {
    if (nth % STEP_THREADS === 0) await slicer.breathe()
    const message = /** @type {number} */ (byDate[nth])
    const parent = containers.parentOf(message)
    if (isChanged[parent]) containers.addChild(parent, message)
  }
}
