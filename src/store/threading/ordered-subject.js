/**
 * THREAD=ORDEREDSUBJECT, RFC 5256 §3: one thread for each base subject, its first message the parent of all others.
 */
import { collationKey, compareValues } from '../sort/collation.js'
import { readPages, sentSeconds } from '../sort/read-pages.js'
import { sortInSlices } from '../sort/sliced-sort.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { ThreadNode } from './thread-messages.js' */

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<ThreadNode[]>}
 */
export async function threadBySubject(source, slots, slicer) {
  /** @type {{ slot: number, subject: string, date: number }[]} */
  const messages = []
  for await (const page of readPages(source, slots, { order: true }, slicer)) {
    for (const { slot, record } of page) {
      if (slicer.isSpent) await slicer.breathe()
      const subject = collationKey(record.baseSubject ?? '')
      messages.push({ slot, subject, date: sentSeconds(record) })
    }
  }
  const sorted = await sortInSlices(
    messages,
    (left, right) =>
      compareValues(left.subject, right.subject) ||
      left.date - right.date ||
      left.slot - right.slot,
    slicer
  )
  /** @type {{ node: ThreadNode, subject: string, date: number }[]} */
  const threads = []
  for (const { slot, subject, date } of sorted) {
    const last = threads.at(-1)
    if (last !== undefined && last.subject === subject)
      last.node.children.push({ slot, children: [] })
    else threads.push({ node: { slot, children: [] }, subject, date })
  }
  const ordered = await sortInSlices(
    threads,
    (left, right) => left.date - right.date || left.node.slot - right.node.slot,
    slicer
  )
  return ordered.map(({ node }) => node)
}
