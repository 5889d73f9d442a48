/**
 * Text of a message as a reader sees it, for SEARCH and for the search index: RFC 9051 §6.4.4 compares decoded text.
 *
 * @typedef {import('./part-tree.js').PartNode} PartNode
 * @typedef {import('./part-tree.js').PartTree} PartTree
 */
import { MAX_CACHED_HEADER_BYTES, MAX_PART_HEADER_BYTES, MAX_TEXT_PART_BYTES } from './limits.js'
import { createCharsetDecoder, decodeCharset } from './charset.js'
import { createTransferDecoder } from './transfer-encoding.js'
import { HtmlTextReader } from './html-text.js'
import { releaseBuffer } from '../support/release-buffer.js'
import { searchableHeader, searchablePartHeader } from './searchable-header.js'
import { composed } from '../support/composed.js'

/** The memory of decoded pieces of at least so many bytes is given back at once, not left to the garbage collector. */
const RELEASED_BYTES = 4_096

/** At most so many characters at the end of a piece are searched for a place to cut; no letter is written with more marks. */
const MAX_HELD_CHARACTERS = 64

/** Characters below this code are never written as one with the character before them. */
const FIRST_MARK = 0x300

/** Characters that may become one with the one before: marks, the later letters of a Korean syllable, half a surrogate pair. */
const JOINING = /[\p{M}\u1160-\u11ff\udc00-\udfff]/u

/** The charset of a page is sought in so many bytes: a page names it at its beginning, or not at all. */
const HTML_HEAD_BYTES = 2_048

/** Letters that are the same in nearly every charset. */
const ASCII_SAMPLE = Buffer.from('charset')

/**
 * @typedef {object} TextRange - of a message, to be read as text
 * @property {'text' | 'header' | 'part header'} kind - `header`: that of a message inside
 * @property {number} start
 * @property {number} end - exclusive
 * @property {PartNode} node - the part that the range is of; for a header, the root of the message inside
 *
 * @typedef {object} TextPiece
 * @property {TextRange['kind']} kind
 * @property {string} text - decoded
 */

/**
 * The ranges of a message that are text, in its order: the names and descriptions of its parts, all text parts, attached
 * ones included, reports and other messages about messages (`message/delivery-status` …), and the headers of messages
 * inside. Only the first MAX_TEXT_PART_BYTES of a part count.
 *
 * @param {PartNode} node
 * @returns {Generator<TextRange>}
 */
export function* textRanges(node) {
  const { type, headerEnd, bodyEnd, children } = node
  const message = node.isMessage ? children[0] : undefined
  if (message) {
    const { headerStart: start } = message
    const end = Math.min(message.headerEnd, start + MAX_CACHED_HEADER_BYTES)
    yield { kind: 'header', start, end, node: message }
    yield* textRanges(message)
  } else if ((type === 'text' || type === 'message') && bodyEnd > headerEnd) {
    const end = Math.min(bodyEnd, headerEnd + MAX_TEXT_PART_BYTES)
    yield { kind: 'text', start: headerEnd, end, node }
  } else
    for (const child of children) {
      const { headerStart: start } = child
      const end = Math.min(child.headerEnd, start + MAX_PART_HEADER_BYTES)
      if (end > start) yield { kind: 'part header', start, end, node: child }
      yield* textRanges(child)
    }
}

/**
 * @param {PartTree} tree
 * @param {(start: number, end: number) => Buffer} read - gives bytes of the message
 * @returns {Generator<TextPiece>} the text of each range; none of part headers that say nothing
 */
export function* textPieces(tree, read) {
  for (const range of textRanges(tree)) {
    const text = rangeText(range, read(range.start, range.end))
    if (text !== '' || range.kind !== 'part header') yield { kind: range.kind, text }
  }
}

/**
 * @param {TextRange} range
 * @param {Buffer} bytes - of the range
 * @returns {string}
 */
export function rangeText({ kind, node }, bytes) {
  if (kind === 'text') return decodeText(node, bytes)
  return kind === 'header' ? searchableHeader(bytes) : searchablePartHeader(bytes)
}

/**
 * @param {PartNode} node - a text part
 * @param {Buffer} bytes - its body as it lies in the message
 * @returns {string} transfer encoding and charset decoded; of HTML what a reader sees
 */
export function decodeText(node, bytes) {
  const decoder = new TextPartDecoder(node)
  const first = decoder.push(bytes)
  return first + decoder.end()
}

/** `decodeText` for a part that comes in pieces, so that a large one is never in memory as a whole. */
export class TextPartDecoder {
  #transfer
  #charset
  #html
  /** @type {import('./charset.js').CharsetDecoder | null} null until it is known which */
  #decoder = null
  /** @type {Buffer[]} the beginning of a page that has to say its charset itself */
  #head = []
  #headBytes = 0
  /** The end of the text so far, which the next letters may change. */
  #tail = ''

  /**
   * @param {Pick<PartNode, 'encoding' | 'charset' | 'subtype'>} node - a text part
   * @param {ConstructorParameters<typeof HtmlTextReader>[0]} [options] - for a page
   */
  constructor({ encoding, charset, subtype }, options) {
    this.#transfer = createTransferDecoder(encoding)
    this.#charset = charset
    this.#html = subtype === 'html' ? new HtmlTextReader(options) : null
    if (!this.#html || charset !== null) this.#decoder = createCharsetDecoder(charset)
  }

  /**
   * @param {Buffer} bytes - the next ones of its body as it lies in the message; nothing of them is kept
   * @returns {string} the text that is certain by now, whole letters, in Unicode's form NFC
   */
  push(bytes) {
    const decoded = this.#transfer ? this.#transfer.push(bytes) : bytes
    const text = this.#decode(decoded, false)
    // Small pieces are kept out: the decoder may still hold their memory.
    if (decoded !== bytes && decoded.length >= RELEASED_BYTES) releaseBuffer(decoded)
    const all = this.#tail + (this.#html ? this.#html.push(text) : text)
    const end = lastCut(all)
    this.#tail = all.slice(end)
    return composed(all.slice(0, end))
  }

  /** @returns {string} the rest */
  end() {
    const rest = this.#transfer ? this.#transfer.end() : Buffer.alloc(0)
    const text = this.#decode(rest, true)
    const last = this.#html ? this.#html.push(text) + this.#html.end() : text
    return composed(this.#tail + last)
  }

  /**
   * @param {Buffer} decoded
   * @param {boolean} isLast
   * @returns {string}
   */
  #decode(decoded, isLast) {
    if (this.#decoder) return this.#decoder.push(decoded) + (isLast ? this.#decoder.end() : '')
    this.#head.push(Buffer.from(decoded))
    this.#headBytes += decoded.length
    if (this.#headBytes < HTML_HEAD_BYTES && !isLast) return ''
    const head = Buffer.concat(this.#head)
    this.#head = []
    this.#decoder = createCharsetDecoder(this.#charset ?? charsetOfHtml(head))
    return this.#decode(head, isLast)
  }
}

/**
 * @param {string} text
 * @returns {number} a place near its end where it may be cut and both pieces be normalized by themselves
 */
function lastCut(text) {
  const first = Math.max(0, text.length - MAX_HELD_CHARACTERS)
  for (let at = text.length - 1; at >= first; at--) {
    const code = text.codePointAt(at) ?? 0
    if (code < FIRST_MARK || !JOINING.test(String.fromCodePoint(code))) return at
  }
  return text.length < MAX_HELD_CHARACTERS ? 0 : text.length
}

/**
 * @param {Buffer} bytes
 * @returns {string | null} the charset that an HTML page says it has
 */
function charsetOfHtml(bytes) {
  const head = bytes.toString('latin1', 0, HTML_HEAD_BYTES)
  const charset = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1] ?? null
  // The name was read as ASCII, so a charset in which ASCII is other letters cannot be meant: Word writes `unicode` (UTF-16).
  return decodeCharset(ASCII_SAMPLE, charset) === ASCII_SAMPLE.toString() ? charset : null
}
