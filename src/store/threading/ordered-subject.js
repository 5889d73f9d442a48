/**
 * THREAD=ORDEREDSUBJECT, RFC 5256 §3: one thread for each base subject, its first message the parent of all others.
 */
import { Uint32List } from '../../support/uint32-list.js'
import { sortByKey } from '../sort/radix-sort.js'
import { numberColumn, rankColumn, slotsIn } from '../sort/sort-columns.js'
import { Containers, NONE } from './containers.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { Threads } from './thread-messages.js' */

/** Messages between two looks at the clock: below a millisecond. */
const STEP_MESSAGES = 4096

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<Threads>}
 */
export async function threadBySubject(source, slots, slicer) {
  const dates = await numberColumn(source, 'DATE', slots, slicer)
  const subjects = await rankColumn(source, 'SUBJECT', slots, slicer)
  const known = await slotsIn([dates, subjects], slots, slicer)
  const sorted = await sortByKey(known, dates, false, slicer)
  const containers = new Containers(sorted.length)
  const ranks = new Uint32Array(sorted.length + 1)
  const messages = new Uint32List(sorted.length)
  for (let nth = 0; nth < sorted.length; nth++) {
    if (nth % STEP_MESSAGES === 0) await slicer.breathe()
    const slot = /** @type {number} */ (sorted[nth])
    const message = containers.create(slot)
    ranks[message] = subjects[slot] ?? 0
    messages.push(message)
  }
  const bySubject = await sortByKey(messages.toArray().slice(), ranks, false, slicer)
  const isHead = new Uint8Array(containers.end)
  let head = NONE
  for (let nth = 0; nth < bySubject.length; nth++) {
    if (nth % STEP_MESSAGES === 0) await slicer.breathe()
    const message = /** @type {number} */ (bySubject[nth])
    if (head !== NONE && ranks[message] === ranks[head]) containers.addChild(head, message)
    else {
      head = message
      isHead[head] = 1
    }
  }
  const heads = messages.toArray().filter((message) => isHead[message])
  return { heads, containers }
}
