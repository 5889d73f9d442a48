/** THREAD responses, RFC 5256 §4. */
import { PIECE_BYTES } from './number-list.js'
import { ResponseWriter } from './response-writer.js'

/**
 * @typedef {object} Threads - of numbered nodes; 0 is none
 * @property {ArrayLike<number>} heads - in order
 * @property {object} containers
 * @property {(node: number) => number} containers.slotOf - what `numberOf` takes; -1 for a message that is not there
 * @property {(node: number) => number} containers.firstChildOf
 * @property {(child: number) => number} containers.nextSiblingOf
 */

/**
 * `thread-list`s, RFC 5256 §5. A message with one child stands before it, one with several before their lists; there is
 * no limit to the depth, so this keeps a stack of its own.
 *
 * @param {Threads} threads
 * @param {(slot: number) => number} numberOf - sequence number or UID of a message
 * @returns {Generator<Buffer, void, void>} pieces, each good until the next one is asked for
 */
export function* compileThread({ heads, containers }, numberOf) {
  const writer = new ResponseWriter()
  writer.ascii('* THREAD')
  if (heads.length > 0) writer.ascii(' ')
  /** @type {number[]} for each list that has been begun, the one behind it; 0: none */
  const following = []
  for (let nth = 0; nth < heads.length; nth++) {
    let head = /** @type {number} */ (heads[nth])
    let next = 0
    while (head !== 0) {
      if (writer.length >= PIECE_BYTES) {
        yield writer.peek()
        writer.endAt(0)
      }
      following.push(next)
      head = writeChain(writer, head, containers, numberOf)
      while (head === 0 && following.length > 0) {
        writer.ascii(')')
        head = following.pop() ?? 0
      }
      next = head === 0 ? 0 : containers.nextSiblingOf(head)
    }
  }
  yield writer.endLine().peek()
}

/**
 * Begins a list.
 *
 * @param {ResponseWriter} writer
 * @param {number} head
 * @param {Threads['containers']} containers
 * @param {(slot: number) => number} numberOf
 * @returns {number} the first of the lists that come within it; 0: none does
 */
function writeChain(writer, head, containers, numberOf) {
  writer.ascii('(')
  let isFirst = true
  for (let node = head; ; node = containers.firstChildOf(node)) {
    const slot = containers.slotOf(node)
    if (slot >= 0) {
      if (!isFirst) writer.ascii(' ')
      writer.number(numberOf(slot))
      isFirst = false
    }
    const child = containers.firstChildOf(node)
    if (child !== 0 && containers.nextSiblingOf(child) === 0) continue
    if (child !== 0 && !isFirst) writer.ascii(' ')
    return child
  }
}
