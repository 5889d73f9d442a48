/**
 * Step 5 of THREAD=REFERENCES, RFC 5256 §3: threads with one base subject become one.
 */

import { filterInSlices } from '../../support/slicer.js'
import { EMPTY_RANK } from '../sort/text-ranks.js'

/** @import { ThreadContainer } from './references.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** Threads between two looks at the clock: below a millisecond. */
const STEP_THREADS = 1024

/**
 * @param {readonly ThreadContainer[]} heads - sorted by date; changed
 * @param {() => ThreadContainer} newDummy
 * @param {Slicer} slicer
 * @returns {Promise<ThreadContainer[]>} the heads that are left, and new ones, in no order
 */
export async function gatherBySubject(heads, newDummy, slicer) {
  const table = await subjectTable(heads, slicer)
  /** @type {Set<ThreadContainer>} */
  const below = new Set()
  /** @type {ThreadContainer[]} */
  const dummies = []
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP_THREADS === 0) await slicer.breathe()
    const subject = subjectOf(head)
    const chosen = table.get(subject)
    if (subject === EMPTY_RANK || chosen === undefined || chosen === head) continue
    below.add(head)
    if (chosen.isDummy && head.isDummy) for (const child of head.children) chosen.add(child)
    else if (chosen.isDummy || (head.isReply && !chosen.isReply)) chosen.add(head)
    else {
      const dummy = newDummy()
      // Its subject is that of its first child.
      dummy.children = [chosen, head]
      below.add(chosen)
      dummies.push(dummy)
      table.set(subject, dummy)
    }
  }
  return (await filterInSlices(heads, (head) => !below.has(head), slicer)).concat(dummies)
}

/**
 * Steps 5.A and 5.B.
 *
 * @param {readonly ThreadContainer[]} heads
 * @param {Slicer} slicer
 * @returns {Promise<Map<number, ThreadContainer>>} the one of each subject that the others come to
 */
async function subjectTable(heads, slicer) {
  /** @type {Map<number, ThreadContainer>} */
  const table = new Map()
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP_THREADS === 0) await slicer.breathe()
    const subject = subjectOf(head)
    if (subject === EMPTY_RANK) continue
    const chosen = table.get(subject)
    const isBetter =
      chosen === undefined ||
      (!chosen.isDummy && (head.isDummy || (chosen.isReply && !head.isReply)))
    if (isBetter) table.set(subject, head)
  }
  return table
}

/**
 * @param {ThreadContainer} head
 * @returns {number}
 */
function subjectOf(head) {
  return (head.isDummy ? head.children[0]?.subject : head.subject) ?? EMPTY_RANK
}
