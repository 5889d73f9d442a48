/**
 * Unicode's form NFC of text from anywhere.
 *
 * Marks that follow each other are brought into an order, which takes ICU the square of their number: a subject of half a
 * megabyte of them would hold up everybody for ten seconds. No language writes more than a few; the standard's own limit
 * for text in a stream is 30 (UAX #15 §13). So a longer run of marks is composed piece by piece.
 */

/** Below U+0300 there is no mark, and nothing to compose. */
const MAY_CHANGE = /[\u0300-\uffff]/

const LONG_RUN = /\p{M}{31}/u

/** Marks that are composed together, where more follow. */
const PIECE = /\p{M}{30}(?=\p{M})/gu

/**
 * @param {string} text
 * @returns {string} composed (NFC); where more than 30 marks follow each other, each 30 by themselves: so the time grows only
 *   with the length
 */
export function composed(text) {
  if (!MAY_CHANGE.test(text)) return text
  if (!LONG_RUN.test(text)) return text.normalize('NFC')
  let result = ''
  let start = 0
  for (const { index, 0: marks } of text.matchAll(PIECE)) {
    const end = index + marks.length
    result += text.slice(start, end).normalize('NFC')
    start = end
  }
  return result + text.slice(start).normalize('NFC')
}
