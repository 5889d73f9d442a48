/**
 * The text that a reader of an HTML part sees, for search. One pass over the source with no tree: mail can hold a
 * million open tags, on which tree builders (html-to-text among them: 9 s for 1 MB) take quadratic time.
 */
import { convert } from 'html-to-text'

/** Elements that do not part words: `wor<b>ld</b>` reads "world". */
const INLINE = new Set(
  (
    'a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark nobr o:p q ruby s samp small span ' +
    'strike strong sub sup tt u var wbr'
  ).split(' ')
)

/** Elements whose content is not shown. */
const HIDDEN = new Set(['script', 'style', 'template', 'noscript', 'xml'])

/** Attributes that a reader sees or looks for, and where in a tag's source they are sought. */
const ATTRIBUTE = /\s(?:alt|title|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi
const MAX_TAG_CHARACTERS = 4_096

/** @type {Map<string, string>} named character references met so far; bounded */
const knownReferences = new Map()

/**
 * @param {string} html
 * @param {{ withAttributes?: boolean }} [options] - `withAttributes`: the `alt`, `title` and `href` of tags too, as by
 *   default
 * @returns {string} text with white space collapsed, a line a block
 */
export function htmlToVisibleText(html, { withAttributes = true } = {}) {
  /** @type {string[]} */
  const out = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open === -1) break
    if (open > at) out.push(collapse(html.slice(at, open)))
    at = markup(html, open, out, withAttributes)
  }
  if (at < html.length) out.push(collapse(html.slice(at)))
  return decodeReferences(out.join(''))
    .replace(/[ \u00a0]*\n[ \n\u00a0]*/g, '\n')
    .replace(/ {2,}/g, ' ')
    .trim()
}

/**
 * @param {string} html
 * @param {number} open - place of a `<`
 * @param {string[]} out - gets what is seen of it
 * @param {boolean} withAttributes
 * @returns {number} the place after it
 */
function markup(html, open, out, withAttributes) {
  if (html.startsWith('<!--', open)) {
    const end = html.indexOf('-->', open + 4)
    return end === -1 ? html.length : end + 3
  }
  const name = /^<\/?([a-z][a-z0-9:]{0,30})|^<[!?]/i.exec(html.slice(open, open + 34))
  if (!name) {
    out.push('<')
    return open + 1
  }
  const close = html.indexOf('>', open)
  if (close === -1) return html.length
  const element = (name[1] ?? '').toLowerCase()
  if (!INLINE.has(element)) out.push('\n')
  if (html[open + 1] === '/') return close + 1
  if (HIDDEN.has(element)) {
    const end = new RegExp(`</${element}`, 'gi')
    end.lastIndex = close
    return end.exec(html)?.index ?? html.length
  }
  if (!withAttributes) return close + 1
  const source = html.slice(open, Math.min(close, open + MAX_TAG_CHARACTERS))
  if (source.includes('='))
    for (const [, double, single, bare] of source.matchAll(ATTRIBUTE))
      out.push(` ${collapse(double ?? single ?? bare ?? '')} `)
  return close + 1
}

/**
 * @param {string} text
 * @returns {string} with each run of white space as one space
 */
function collapse(text) {
  return text.replace(/[ \t\r\n\f]+/g, ' ')
}

/**
 * @param {string} text
 * @returns {string} with `&amp;`, `&#233;` and the like as the characters that they stand for
 */
function decodeReferences(text) {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,31}));?/gi, (written) => {
    const known = knownReferences.get(written)
    if (known !== undefined) return known
    // The library has the table of all 2,231 names and the rules for the numbers that mean something else.
    const decoded = convert(written, { wordwrap: false }) || ' '
    if (knownReferences.size > 4_000) knownReferences.clear()
    knownReferences.set(written, decoded)
    return decoded
  })
}
