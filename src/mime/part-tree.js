/**
 * The tree of parts in the form that is stored beside a message: what sections and text search need, in few bytes.
 *
 * One byte of version, then the root. A node, numbers as varints (seven bits a byte, lowest first):
 *
 *     flags         1 byte: 1 message inside, 2 multipart, 4 attachment
 *     start         headerStart, counted from the headerStart of the node above (0 for the root)
 *     header, body  their lengths in bytes
 *     lines
 *     type, subtype, encoding, charset
 *                   each a string: its length (1 byte), then UTF-8; one byte alone for those in COMMON_STRINGS
 *     children      their number, then each of them
 *
 * @typedef {import('./part.js').Part} Part
 */
import { ByteWriter } from './byte-writer.js'
import { findParameter } from './content-type.js'
import { MailError } from '../errors.js'
import { MAX_NESTING } from './limits.js'

/**
 * @typedef {object} PartNode
 * @property {number} headerStart - offset in the message
 * @property {number} headerEnd - offset of the body
 * @property {number} bodyEnd - offset after the body
 * @property {number} lines - line ends in the body
 * @property {string} type - media type, lower case
 * @property {string} subtype - lower case
 * @property {string} encoding - Content-Transfer-Encoding, lower case
 * @property {string | null} charset - lower case; null when the part names none
 * @property {boolean} isMessage - message/rfc822 or message/global: `children[0]` is that message's root
 * @property {boolean} isAttachment - Content-Disposition is attachment
 * @property {PartNode[]} children
 */

/** @typedef {PartNode} PartTree - the root node */

const FORMAT_VERSION = 1
const FLAG_MESSAGE = 1
const FLAG_MULTIPART = 2
const FLAG_ATTACHMENT = 4

/**
 * Strings that are stored as one byte, 128 and their place here. Stored data names them by place: only ever add at
 * the end, or raise FORMAT_VERSION.
 */
const COMMON_STRINGS = [
  '',
  'text',
  'plain',
  'html',
  'multipart',
  'mixed',
  'alternative',
  'related',
  'signed',
  'report',
  'message',
  'rfc822',
  'delivery-status',
  'application',
  'octet-stream',
  'pdf',
  'image',
  'jpeg',
  'png',
  'gif',
  '7bit',
  '8bit',
  'base64',
  'quoted-printable',
  'us-ascii',
  'utf-8',
  'iso-8859-1',
  'iso-8859-15',
  'windows-1252'
]
const COMMON_PLACES = new Map(COMMON_STRINGS.map((text, place) => [text, place]))

/** A stored string has at most so many bytes; types and charsets of mail are far shorter. */
const MAX_STRING_BYTES = 127

/**
 * @param {Part} root
 * @returns {Buffer}
 */
export function encodePartTree(root) {
  const writer = new ByteWriter(128)
  writer.byte(FORMAT_VERSION)
  encodeNode(writer, root, 0)
  return writer.finish()
}

/**
 * @param {Buffer} bytes - made by `encodePartTree`
 * @returns {PartTree}
 * @throws {MailError} ACCOUNT_DAMAGED when the bytes are no part tree
 */
export function decodePartTree(bytes) {
  const reader = new NodeReader(bytes)
  if (reader.byte() !== FORMAT_VERSION) throw damaged('unknown format')
  const root = reader.node(0, 0)
  if (reader.at !== bytes.length) throw damaged('bytes after the last node')
  return root
}

/**
 * @param {ByteWriter} writer
 * @param {Part} part
 * @param {number} origin - headerStart of the node above
 */
function encodeNode(writer, part, origin) {
  const charset = part.type === 'text' ? findParameter(part.params, 'charset') : null
  const isAttachment = part.disposition?.type.toLowerCase() === 'attachment'
  writer.byte(
    (part.isMessage && part.children.length > 0 ? FLAG_MESSAGE : 0) |
      (part.type === 'multipart' ? FLAG_MULTIPART : 0) |
      (isAttachment ? FLAG_ATTACHMENT : 0)
  )
  writer.varint(part.headerStart - origin)
  writer.varint(part.headerEnd - part.headerStart)
  writer.varint(part.bodyEnd - part.headerEnd)
  writer.varint(part.lines)
  for (const text of [part.type, part.subtype, part.encoding, charset?.toLowerCase() ?? ''])
    encodeString(writer, text)
  writer.varint(part.children.length)
  for (const child of part.children) encodeNode(writer, child, part.headerStart)
}

/**
 * @param {ByteWriter} writer
 * @param {string} text
 */
function encodeString(writer, text) {
  const place = COMMON_PLACES.get(text)
  if (place !== undefined) {
    writer.byte(0x80 | place)
    return
  }
  const bytes = Buffer.from(text.slice(0, 40), 'utf8')
  const length = Math.min(bytes.length, MAX_STRING_BYTES)
  writer.byte(length)
  writer.append(bytes.subarray(0, length))
}

/** Reads nodes and checks every bound, so that damaged bytes end in an error and not in wrong ranges. */
class NodeReader {
  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.bytes = bytes
    this.at = 0
  }

  /** @returns {number} */
  byte() {
    const value = this.bytes[this.at++]
    if (value === undefined) throw damaged('too short')
    return value
  }

  /** @returns {number} */
  varint() {
    let value = 0
    let factor = 1
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) break
      factor *= 0x80
    }
    if (!Number.isSafeInteger(value)) throw damaged('number too large')
    return value
  }

  /** @returns {string} */
  string() {
    const length = this.byte()
    if (length >= 0x80) {
      const text = COMMON_STRINGS[length & 0x7f]
      if (text === undefined) throw damaged('unknown short form')
      return text
    }
    const start = this.at
    this.at += length
    if (this.at > this.bytes.length) throw damaged('too short')
    return this.bytes.toString('utf8', start, this.at)
  }

  /**
   * @param {number} origin
   * @param {number} depth
   * @returns {PartNode}
   */
  node(origin, depth) {
    // A synthetic part may lie one level below the deepest real one.
    if (depth > MAX_NESTING + 1) throw damaged('too deep')
    const flags = this.byte()
    const headerStart = origin + this.varint()
    const headerEnd = headerStart + this.varint()
    const bodyEnd = headerEnd + this.varint()
    const lines = this.varint()
    const type = this.string()
    const subtype = this.string()
    const encoding = this.string()
    const charset = this.string() || null
    const isMessage = (flags & FLAG_MESSAGE) !== 0
    const isAttachment = (flags & FLAG_ATTACHMENT) !== 0
    const count = this.varint()
    if (count > this.bytes.length - this.at) throw damaged('too many children')
    /** @type {PartNode[]} */
    const children = []
    for (let index = 0; index < count; index++) children.push(this.node(headerStart, depth + 1))
    return {
      headerStart,
      headerEnd,
      bodyEnd,
      lines,
      type,
      subtype,
      encoding,
      charset,
      isMessage,
      isAttachment,
      children
    }
  }
}

/**
 * @param {string} detail
 * @returns {MailError}
 */
function damaged(detail) {
  return new MailError('ACCOUNT_DAMAGED', { detail: `part tree: ${detail}` })
}
