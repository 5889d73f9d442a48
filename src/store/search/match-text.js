/**
 * Substring search in a message's header and text, on decoded text and regardless of case (fold.js), for the keys
 * HEADER and its short forms, BODY and TEXT. RFC 3501 §6.4.4.
 */
import { decodedField, searchableHeader } from '../../mime/searchable-header.js'
import { foldCase } from './fold.js'

/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./plan.js').Verdict} Verdict */

/**
 * A message's header block, decoded field by field on demand; a search often asks for one field several times.
 */
export class HeaderText {
  /** @type {Map<string, string[]>} */
  #fields = new Map()
  #bytes

  /** @param {Buffer} bytes - the header block as it stands in the message */
  constructor(bytes) {
    this.#bytes = bytes
  }

  /**
   * @param {string} name - in any case
   * @returns {string[]} the folded values of all the fields of that name
   */
  field(name) {
    const key = name.toLowerCase()
    let values = this.#fields.get(key)
    if (!values) {
      values = decodedField(this.#bytes, key).map(foldCase)
      this.#fields.set(key, values)
    }
    return values
  }

  /** @returns {string} the whole block, decoded and folded */
  whole() {
    return foldCase(searchableHeader(this.#bytes))
  }
}

/**
 * @param {{ field: string, value: string }} key - with an empty value: the field is there (RFC 3501 §6.4.4)
 * @returns {(header: HeaderText) => boolean}
 */
export function compileHeaderKey({ field, value }) {
  const needle = foldCase(value)
  return (header) => header.field(field).some((text) => text.includes(needle))
}

/**
 * What a search has found so far in one message's text: an answer per leaf, none before the text is read.
 */
export class TextHits {
  /** @type {Map<LeafNode, { needle: string, isFound: boolean, isWhole: boolean }>} */
  #open = new Map()
  #isComplete = false
  /** The end of the piece before, in which a match may begin. */
  #before = ''
  #overlap

  /** @param {LeafNode[]} leaves - those of the plan that ask for text */
  constructor(leaves) {
    for (const leaf of leaves) {
      if (leaf.key.op !== 'body' && leaf.key.op !== 'text') continue
      this.#open.set(leaf, {
        needle: foldCase(leaf.key.value),
        isFound: false,
        isWhole: leaf.key.op === 'text'
      })
    }
    const lengths = [...this.#open.values()].map(({ needle }) => needle.length)
    this.#overlap = Math.max(1, ...lengths) - 1
  }

  /** @returns {boolean} whether the top-level header takes part for any leaf that is still open */
  get wantsHeader() {
    return [...this.#open.values()].some(({ isWhole, isFound }) => isWhole && !isFound)
  }

  /** Begins another message. */
  reset() {
    this.#isComplete = false
    this.#before = ''
    for (const entry of this.#open.values()) entry.isFound = false
  }

  /**
   * @param {HeaderText} header - the message's own header, where TEXT looks and BODY does not
   * @returns {boolean} whether anything new was found
   */
  addHeader(header) {
    return this.#search(header.whole(), (entry) => entry.isWhole)
  }

  /**
   * @param {import('./message-text.js').TextPiece} piece - of decoded text; a match reaches from a piece into the one
   *   that continues it, and not across parts
   * @returns {boolean} whether anything new was found
   */
  addText({ text, isContinued }) {
    const folded = isContinued ? this.#before + foldCase(text) : foldCase(text)
    this.#before = this.#overlap > 0 ? folded.slice(-this.#overlap) : ''
    return this.#search(folded, () => true)
  }

  /** All text was seen: what was not found is not there. */
  complete() {
    this.#isComplete = true
  }

  /**
   * @param {LeafNode} leaf
   * @returns {Verdict}
   */
  verdict(leaf) {
    if (this.#open.get(leaf)?.isFound) return true
    return this.#isComplete ? false : undefined
  }

  /**
   * @param {string} folded
   * @param {(entry: { isWhole: boolean }) => boolean} concerns
   * @returns {boolean}
   */
  #search(folded, concerns) {
    let isNew = false
    for (const entry of this.#open.values()) {
      if (entry.isFound || !concerns(entry) || !folded.includes(entry.needle)) continue
      entry.isFound = true
      isNew = true
    }
    return isNew
  }
}
