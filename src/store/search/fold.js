/**
 * Simple case folding over the whole of Unicode (UAX #44, CaseFolding.txt, statuses C and S): each code point is folded
 * by itself, so a substring of a text folds to a substring of the folded text. SQLite's own folding misses whole scripts
 * (Georgian, Cherokee, Adlam), which is why search has this.
 *
 * Besides, all spaces are one: mail is full of those at which lines may not end (`&nbsp;`), and nobody sees which it is.
 * And of what only says where lines may end (`&shy;`) nothing is left.
 *
 * What simple folding does not do, on purpose: `ß` is not `ss` (but capital `ẞ` is `ß`), and the Turkish `İ` and
 * `ı` are letters of their own, neither is the ASCII `i`.
 */

/** Mapped by full case mapping to two code points, by simple folding to itself. */
const DOTTED_CAPITAL_I = '\u0130'

/** Pairs that CaseFolding.txt folds (status S) although their upper case is a sequence of code points. */
const SEQUENCE_PAIRS = [
  ['\u1fd3', '\u0390'],
  ['\u1fe3', '\u03b0'],
  ['\ufb05', '\ufb06']
]

/** Zs of Unicode, but for the one of ASCII. */
const SPACES =
  '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000'

/** Soft hyphen, zero width space, word joiner, and the byte order mark, which was one before. */
const UNSEEN = '\u00ad\u200b\u2060\ufeff'

/** Above plane 0 no two letters have the same upper case, as Unicode stands; the tests tell when some have. */
const SHARED_END = 0x10000

/**
 * Code points that are looked at together: most such blocks have no letter with an upper case, which the engine tells at
 * once.
 */
const BLOCK_POINTS = 0x100

/** @type {{ pattern: RegExp, folded: Map<string, string> } | null} */
let remainder = null

/**
 * @param {string} text - decoded text of any length
 * @returns {string} its simple case folding, with U+0020 for every space and without unseen signs; two texts match
 *   exactly if these are equal
 */
export function foldCase(text) {
  if (!text.includes(DOTTED_CAPITAL_I)) return foldLower(text)
  return text.split(DOTTED_CAPITAL_I).map(foldLower).join(DOTTED_CAPITAL_I)
}

/**
 * Lower-casing by the engine does nearly all of it at native speed. What is left are lower-case letters that share
 * their upper case with another one (the final sigma, the long s, the micro sign …), spaces, and what is
 * not seen.
 *
 * @param {string} text
 * @returns {string}
 */
function foldLower(text) {
  const lower = text.toLowerCase()
  remainder ??= deriveRemainder()
  const { pattern, folded } = remainder
  return lower.replace(pattern, (letter) => /** @type {string} */ (folded.get(letter)))
}

/**
 * Derived from the engine's own tables, so that it follows the Unicode version of everything else.
 *
 * @returns {{ pattern: RegExp, folded: Map<string, string> }}
 */
function deriveRemainder() {
  /** @type {Map<string, string>} */
  const folded = new Map()
  const offsets = Uint16Array.from({ length: BLOCK_POINTS }, (_, at) => at)
  const lowerCase = /[\p{Changes_When_Uppercased}--\p{Changes_When_Lowercased}]/gv
  for (let start = 0; start < SHARED_END; start += BLOCK_POINTS) {
    const block = String.fromCharCode(...offsets.map((at) => start + at))
    if (block.toUpperCase() === block) continue
    for (const [letter] of block.matchAll(lowerCase)) {
      const upper = letter.toUpperCase()
      if (!isOneCodePoint(upper)) continue
      const lower = upper.toLowerCase()
      if (lower !== letter && isOneCodePoint(lower) && upper !== 'I') folded.set(letter, lower)
    }
  }
  for (const [letter, other] of SEQUENCE_PAIRS) {
    folded.set(/** @type {string} */ (letter), /** @type {string} */ (other))
  }
  for (const space of SPACES) folded.set(space, ' ')
  for (const sign of UNSEEN) folded.set(sign, '')
  return { pattern: new RegExp(`[${[...folded.keys()].join('')}]`, 'gu'), folded }
}

/**
 * @param {string} text - not empty
 * @returns {boolean}
 */
function isOneCodePoint(text) {
  return text.length === ((text.codePointAt(0) ?? 0) > 0xffff ? 2 : 1)
}
