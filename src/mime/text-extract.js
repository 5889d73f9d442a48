/**
 * Text of a message as a reader sees it, for SEARCH and for the search index: RFC 9051 §6.4.4 compares decoded text.
 *
 * @typedef {import('./part-tree.js').PartNode} PartNode
 * @typedef {import('./part-tree.js').PartTree} PartTree
 */
import { MAX_CACHED_HEADER_BYTES, MAX_TEXT_PART_BYTES } from './limits.js'
import { decodeByteString, decodeHeaderText } from './encoded-word.js'
import { formatAddresses, parseAddressList } from './address.js'
import { createCharsetDecoder } from './charset.js'
import { createTransferDecoder } from './transfer-encoding.js'
import { HtmlTextReader } from './html-text.js'
import { releaseBuffer } from '../support/release-buffer.js'
import { scanHeader } from './header.js'

/** Fields that are also compared in their plain form, without comments and folds: `a (x) @ b` as `a@b`. */
const ADDRESS_FIELDS = new Set(['from', 'sender', 'reply-to', 'to', 'cc', 'bcc'])

/** Decoded pieces from this size on are not left to the garbage collector. */
const RELEASED_BYTES = 4_096

/** A page says its charset in its first bytes, or not at all. */
const HTML_HEAD_BYTES = 2_048

/**
 * @typedef {object} TextPiece
 * @property {number[]} partPath - as in a section; for the header of a message inside, the part that holds it
 * @property {string} text - decoded
 */

/**
 * Yields the decoded text of all text parts, attached ones included, and the headers of messages inside, in their
 * order. One part is one piece; of a part only its first MAX_TEXT_PART_BYTES are read.
 *
 * @param {PartTree} tree
 * @param {(start: number, end: number) => Buffer} read - gives bytes of the message
 * @returns {Generator<TextPiece>}
 */
export function* textPieces(tree, read) {
  yield* piecesOf(tree, tree.type === 'multipart' ? [] : [1], read)
}

/**
 * @param {PartNode} node
 * @param {number[]} partPath
 * @param {(start: number, end: number) => Buffer} read
 * @returns {Generator<TextPiece>}
 */
function* piecesOf(node, partPath, read) {
  const { type, headerEnd, bodyEnd, children } = node
  const message = node.isMessage ? children[0] : undefined
  if (type === 'text' && bodyEnd > headerEnd) {
    const bytes = read(headerEnd, Math.min(bodyEnd, headerEnd + MAX_TEXT_PART_BYTES))
    yield { partPath, text: decodeText(node, bytes) }
  } else if (message) {
    const { headerStart } = message
    const block = read(
      headerStart,
      Math.min(message.headerEnd, headerStart + MAX_CACHED_HEADER_BYTES)
    )
    yield { partPath, text: searchableHeader(block) }
    yield* piecesOf(message, message.type === 'multipart' ? partPath : [...partPath, 1], read)
  } else
    for (const [index, child] of children.entries())
      yield* piecesOf(child, [...partPath, index + 1], read)
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

/** The same for a part that comes in pieces, so that a large one is never in memory as a whole. */
export class TextPartDecoder {
  #transfer
  #charset
  #html
  /** @type {import('./charset.js').CharsetDecoder | null} null until it is known which */
  #decoder = null
  /** @type {Buffer[]} the beginning of a page that has to say its charset itself */
  #head = []
  #headBytes = 0

  /** @param {PartNode} node - a text part */
  constructor({ encoding, charset, subtype }) {
    this.#transfer = createTransferDecoder(encoding)
    this.#charset = charset
    this.#html = subtype === 'html' ? new HtmlTextReader() : null
    if (!this.#html || charset !== null) this.#decoder = createCharsetDecoder(charset)
  }

  /**
   * @param {Buffer} bytes - the next ones of its body as it lies in the message; nothing of them is kept
   * @returns {string} the text that is certain by now, whole letters
   */
  push(bytes) {
    const decoded = this.#transfer ? this.#transfer.push(bytes) : bytes
    const text = this.#decode(decoded, false)
    // Of a few bytes a decoder may keep hold.
    if (decoded !== bytes && decoded.length >= RELEASED_BYTES) releaseBuffer(decoded)
    return this.#html ? this.#html.push(text) : text
  }

  /** @returns {string} the rest */
  end() {
    const rest = this.#transfer ? this.#transfer.end() : Buffer.alloc(0)
    const text = this.#decode(rest, true)
    return this.#html ? this.#html.push(text) + this.#html.end() : text
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
 * @param {Buffer} headerBytes - a header block
 * @returns {string} all its fields decoded, `Name: value` a line; address fields once more in their plain form
 */
export function searchableHeader(headerBytes) {
  /** @type {string[]} */
  const lines = []
  scanHeader(headerBytes, (start, nameEnd, valueStart, end) => {
    if (nameEnd === -1) return
    const name = headerBytes.toString('latin1', start, nameEnd)
    const text = searchableValue(name.toLowerCase(), headerBytes.subarray(valueStart, end))
    lines.push(`${name}: ${text}`)
  })
  return lines.join('\n')
}

/**
 * @param {Buffer} headerBytes - a header block
 * @param {string} name - of a field, in any case
 * @returns {string[]} a text for each field of that name: its decoded value, and for an address field on a further
 *   line its addresses in plain form, so that a substring is found in either
 */
export function decodedField(headerBytes, name) {
  const lowerName = name.toLowerCase()
  /** @type {string[]} */
  const values = []
  scanHeader(headerBytes, (start, nameEnd, valueStart, end) => {
    if (nameEnd - start !== lowerName.length) return
    if (headerBytes.toString('latin1', start, nameEnd).toLowerCase() === lowerName)
      values.push(searchableValue(lowerName, headerBytes.subarray(valueStart, end)))
  })
  return values
}

/**
 * @param {string} lowerName
 * @param {Buffer} value
 * @returns {string}
 */
function searchableValue(lowerName, value) {
  const text = decodeHeaderText(value)
  if (!ADDRESS_FIELDS.has(lowerName)) return text
  const plain = decodeByteString(formatAddresses(parseAddressList(value)))
  return plain === text ? text : `${text}\n${plain}`
}

/**
 * @param {Buffer} bytes
 * @returns {string | null} the charset that an HTML page says it has
 */
function charsetOfHtml(bytes) {
  const head = bytes.toString('latin1', 0, HTML_HEAD_BYTES)
  return /<meta[^>]{0,200}?charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1] ?? null
}
