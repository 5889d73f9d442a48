/**
 * Numbers of messages in responses, a piece at a time: of a large mailbox there are many. As a list in SEARCH (RFC 3501
 * §7.2.5) and SORT (RFC 5256 §4), with MODSEQ behind it (RFC 7162 §3.1.5, §3.1.6); as a set in ESEARCH.
 */
import { rangesOf } from '../values/sequence-set.js'
import { ResponseWriter } from './response-writer.js'

/** A piece has about so many bytes: some ten thousand numbers. */
export const PIECE_BYTES = 64 * 1024

/**
 * @param {'SEARCH' | 'SORT'} name
 * @param {number} count - of the numbers; may be none
 * @param {(index: number) => number} numberAt - sequence number or UID
 * @param {{ modSeq?: number | null }} [options] - `modSeq`: the highest of the messages found, when MODSEQ was asked for
 *   and something was found
 * @returns {Generator<Buffer, void, void>} pieces, each good until the next one is asked for
 */
export function* compileNumberList(name, count, numberAt, { modSeq = null } = {}) {
  const writer = new ResponseWriter()
  writer.ascii(`* ${name}`)
  for (let index = 0; index < count; index++) {
    writer.ascii(' ').number(numberAt(index))
    if (writer.length < PIECE_BYTES) continue
    yield writer.peek()
    writer.endAt(0)
  }
  if (modSeq !== null) writer.ascii(` (MODSEQ ${modSeq})`)
  yield writer.endLine().peek()
}

/**
 * Writes the set that `compileNumberSet` makes, a piece at a time, without holding it as a whole.
 *
 * @param {ResponseWriter} writer - what is in it becomes part of the first piece, and the end of the set stays in it
 * @param {Iterable<number>} numbers - at least one; in a sort's order, or ascending: then it is the shortest set
 * @returns {Generator<Buffer, void, void>} pieces, each good until the next one is asked for
 */
export function* writeNumberSet(writer, numbers) {
  let isFirst = true
  for (const { from, to } of rangesOf(numbers)) {
    if (!isFirst) writer.ascii(',')
    isFirst = false
    writer.number(from)
    if (to > from) writer.ascii(':').number(to)
    if (writer.length < PIECE_BYTES) continue
    yield writer.peek()
    writer.endAt(0)
  }
}
