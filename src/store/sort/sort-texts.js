/**
 * Sorting of collation keys: their beginnings go into numbers, and only where these are equal are texts compared. 100,000
 * subjects take half of the time that comparing takes.
 */
import { compareValues } from './collation.js'
import { sortByKey } from './radix-sort.js'
import { sortInSlices } from './sliced-sort.js'

/** @import { Slicer } from '../../support/slicer.js' */

/** Characters, of eight bits each, that go into one number. */
const PIECE_CHARACTERS = 6

/** The first character of each piece of a text's beginning; the last piece counts least. */
const PIECE_STARTS = [0, 6, 12]

/** Texts between two looks at the clock: below a millisecond. */
const STEP_TEXTS = 4096

/**
 * @param {readonly string[]} texts - of `collationKey`
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} their indexes, in the order of the texts
 */
export async function sortTexts(texts, slicer) {
  /** @type {Uint32Array} */
  let order = Uint32Array.from(texts.keys())
  /** @type {Float64Array[]} */
  const beginnings = []
  for (const from of PIECE_STARTS.toReversed()) {
    const pieces = await piecesAt(texts, from, slicer)
    order = await sortByKey(order, pieces, false, slicer)
    beginnings.push(pieces)
  }
  const isAlike = (/** @type {number} */ left, /** @type {number} */ right) =>
    beginnings.every((pieces) => pieces[left] === pieces[right])
  const compare = (/** @type {number} */ left, /** @type {number} */ right) =>
    compareValues(texts[left] ?? '', texts[right] ?? '')
  let start = 0
  for (let end = 1; end <= order.length; end++) {
    if (end % STEP_TEXTS === 0) await slicer.breathe()
    if (end < order.length && isAlike(order[start] ?? 0, order[end] ?? 0)) continue
    if (end - start > 1)
      order.set(await sortInSlices([...order.subarray(start, end)], compare, slicer), start)
    start = end
  }
  return order
}

/**
 * @param {readonly string[]} texts
 * @param {number} from - character
 * @param {Slicer} slicer
 * @returns {Promise<Float64Array>} the piece there of each text; NULs stand for characters behind its end
 */
async function piecesAt(texts, from, slicer) {
  const pieces = new Float64Array(texts.length)
  for (const [index, text] of texts.entries()) {
    if (index % STEP_TEXTS === 0) await slicer.breathe()
    let piece = 0
    for (let at = from; at < from + PIECE_CHARACTERS; at++)
      piece = piece * 256 + (at < text.length ? text.charCodeAt(at) : 0)
    pieces[index] = piece
  }
  return pieces
}
