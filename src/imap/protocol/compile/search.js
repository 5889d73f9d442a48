/** ESEARCH responses, RFC 9051 §7.3.4, a piece at a time; MODSEQ in them, RFC 7162 §3.1.10. */
import { compilePartialRange } from '../values/partial-range.js'
import { writeNumberSet } from './number-list.js'
import { compileString } from './quoted.js'
import { ResponseWriter } from './response-writer.js'

/**
 * @typedef {object} EsearchResult - only the results asked for, and min, max and all only when something was found
 * @property {string} tag - of the command
 * @property {boolean} isUid
 * @property {number | null} [min]
 * @property {number | null} [max]
 * @property {ReadonlyArray<number> | Readonly<Uint32Array> | null} [all] - ascending, or in a sort's order
 * @property {number | null} [count]
 * @property {{ range: import('../values/partial-range.js').PartialRange, numbers: NonNullable<EsearchResult['all']> } | null} [partial]
 *   - a page, RFC 9394 §3.1; its numbers as those of `all`
 * @property {number | null} [modSeq]
 */

/**
 * @param {EsearchResult} result
 * @returns {Generator<Buffer, void, void>} pieces, each good until the next one is asked for
 */
export function* compileEsearch({ tag, isUid, min, max, all, count, partial, modSeq }) {
  const writer = new ResponseWriter()
  writer.ascii('* ESEARCH (TAG ').bytes(compileString(tag)).ascii(')')
  if (isUid) writer.ascii(' UID')
  if (min != null) writer.ascii(` MIN ${min}`)
  if (max != null) writer.ascii(` MAX ${max}`)
  if (all != null && all.length > 0) yield* writeNumberSet(writer.ascii(' ALL '), all)
  if (count != null) writer.ascii(` COUNT ${count}`)
  if (partial != null) {
    writer.ascii(` PARTIAL (${compilePartialRange(partial.range)} `)
    if (partial.numbers.length === 0) writer.ascii('NIL')
    else yield* writeNumberSet(writer, partial.numbers)
    writer.ascii(')')
  }
  if (modSeq != null) writer.ascii(` MODSEQ ${modSeq}`)
  yield writer.endLine().peek()
}
