/**
 * SEARCH (RFC 3501 §7.2.5) and SORT (RFC 5256 §4) responses, a piece at a time: of a large mailbox they are long. MODSEQ in
 * both, RFC 7162 §3.1.5 and §3.1.6.
 */
import { ResponseWriter } from './response-writer.js'

/** Some ten thousand numbers. */
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
