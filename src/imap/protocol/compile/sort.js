/** SORT and THREAD responses, RFC 5256 §4; MODSEQ in the former, RFC 7162 §3.1.6. */
import { ResponseWriter } from './response-writer.js'

/**
 * @param {Iterable<number>} numbers - sequence numbers or UIDs in order; may be none
 * @param {{ modSeq?: number | null }} [options] - `modSeq`: the highest of the messages, when MODSEQ was asked for
 * @returns {Buffer}
 */
export function compileSort(numbers, { modSeq = null } = {}) {
  const writer = new ResponseWriter()
  writer.ascii('* SORT')
  for (const number of numbers) writer.ascii(' ').number(number)
  if (modSeq !== null) writer.ascii(` (MODSEQ ${modSeq})`)
  return writer.endLine().take()
}

/**
 * @typedef {object} Thread
 * @property {number} slot - what `numberOf` takes; -1 for a message that is not there
 * @property {Thread[]} children - in order
 */

/**
 * `thread-list`s, RFC 5256 §5. A message with one child stands before it, one with several before their lists; there is
 * no limit to the depth, so this keeps a stack of its own.
 *
 * @param {readonly Thread[]} threads
 * @param {(slot: number) => number} numberOf - sequence number or UID of a message
 * @returns {Buffer}
 */
export function compileThread(threads, numberOf) {
  const writer = new ResponseWriter()
  writer.ascii('* THREAD')
  if (threads.length > 0) writer.ascii(' ')
  /** @type {(Thread | string)[]} */
  const stack = threads.toReversed()
  for (;;) {
    const next = stack.pop()
    if (next === undefined) return writer.endLine().take()
    if (typeof next === 'string') {
      writer.ascii(next)
      continue
    }
    writer.ascii('(')
    let isFirst = true
    let node = next
    for (;;) {
      if (node.slot >= 0) {
        if (!isFirst) writer.ascii(' ')
        writer.number(numberOf(node.slot))
        isFirst = false
      }
      const [only] = node.children
      if (only === undefined || node.children.length > 1) break
      node = only
    }
    if (node.children.length > 0 && !isFirst) writer.ascii(' ')
    stack.push(')', ...node.children.toReversed())
  }
}
