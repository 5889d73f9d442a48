/** THREAD responses, RFC 5256 §4. */
import { PIECE_BYTES } from './number-list.js'
import { ResponseWriter } from './response-writer.js'

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
 * @returns {Generator<Buffer, void, void>} pieces, each good until the next one is asked for
 */
export function* compileThread(threads, numberOf) {
  const writer = new ResponseWriter()
  writer.ascii('* THREAD')
  if (threads.length > 0) writer.ascii(' ')
  /** @type {(Thread | string)[]} */
  const stack = threads.toReversed()
  for (;;) {
    if (writer.length >= PIECE_BYTES) {
      yield writer.peek()
      writer.endAt(0)
    }
    const next = stack.pop()
    if (next === undefined) break
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
    stack.push(')')
    for (let at = node.children.length - 1; at >= 0; at--)
      stack.push(/** @type {Thread} */ (node.children[at]))
  }
  yield writer.endLine().peek()
}
