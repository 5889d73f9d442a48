/**
 * THREAD=ORDEREDSUBJECT, RFC 5256 §3: one thread for each base subject, its first message the parent of all others.
 */
import { sortByKey } from '../sort/radix-sort.js'
import { numberColumn, rankColumn, slotsIn } from '../sort/sort-columns.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { ThreadNode } from './thread-messages.js' */

/** Messages between two looks at the clock: below a millisecond. */
const STEP_MESSAGES = 4096

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<ThreadNode[]>}
 */
export async function threadBySubject(source, slots, slicer) {
  const dates = await numberColumn(source, 'DATE', slots, slicer)
  const subjects = await rankColumn(source, 'SUBJECT', slots, slicer)
  const known = await slotsIn([dates, subjects], slots, slicer)
  /** @type {Map<number, ThreadNode>} by subject; the one that begins first is the first */
  const threads = new Map()
  for (const [nth, slot] of (await sortByKey(known, dates, false, slicer)).entries()) {
    if (nth % STEP_MESSAGES === 0) await slicer.breathe()
    const subject = subjects[slot] ?? 0
    const head = threads.get(subject)
    /** @type {ThreadNode} */
    const node = { slot, children: [] }
    if (head) head.children.push(node)
    else threads.set(subject, node)
  }
  return [...threads.values()]
}
