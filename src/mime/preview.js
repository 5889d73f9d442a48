/**
 * The first words of a message as text, RFC 8970 §3: from the text that a reader sees first. Of alternatives that is the
 * plain one, since they say the same; elsewhere the order decides: after a page in HTML, plain text is what a mailing
 * list adds to every message. What the sender quotes is left out, unless there is nothing else.
 *
 * @typedef {import('./part-tree.js').PartNode} PartNode
 * @typedef {import('./part-tree.js').PartTree} PartTree
 */
import { decodeCharset } from './charset.js'
import { htmlToVisibleText } from './html-text.js'
import { decodeTransfer } from './transfer-encoding.js'

/** RFC 8970 §3.3: no more than 200 characters, as code points. */
const PREVIEW_CHARACTERS = 200

/** Bytes of a part that are looked at: newsletters have up to 100 KiB of styles before their first word. */
export const MAX_PREVIEW_BYTES = 256 * 1024

/** Subtypes of text that a preview can be made of. */
const READABLE = new Set(['plain', 'html'])

/** A line that begins a quotation, or is one. */
const QUOTED_LINE = /^\s*>/

/** White space, control characters, and what newsletters fill their own previews with. */
const UNSEEN = /(?:[\s\p{Cc}\u200b\u200c\u2060\ufeff]|\u034f|\u200d)+/gu

/**
 * @param {PartTree | PartNode} node
 * @returns {PartNode | null} the part that a preview is made of; null when there is none, as in encrypted mail
 */
export function previewPart(node) {
  const { type, subtype } = node
  if (node.isAttachment || node.isMessage) return null
  if (type === 'text') return READABLE.has(subtype) && node.bodyEnd > node.headerEnd ? node : null
  if (subtype === 'encrypted') return null
  /** @type {PartNode | null} */
  let first = null
  for (const child of node.children) {
    const found = previewPart(child)
    if (found !== null && (subtype !== 'alternative' || found.subtype === 'plain')) return found
    first ??= found
  }
  return first
}

/**
 * @param {PartNode} node - of `previewPart`
 * @param {Buffer} bytes - the beginning of its body, up to MAX_PREVIEW_BYTES
 * @returns {string} in one line; empty when there is nothing to show
 */
export function previewText({ encoding, charset, subtype }, bytes) {
  const decoded = decodeCharset(decodeTransfer(bytes, encoding) ?? Buffer.alloc(0), charset)
  const text = subtype === 'html' ? htmlToVisibleText(decoded, { withAttributes: false }) : decoded
  const own = text
    .split(/\r\n|\r|\n/)
    .filter((line) => !QUOTED_LINE.test(line))
    .join(' ')
  return firstCharacters(inOneLine(own) || inOneLine(text))
}

/**
 * @param {string} text
 * @returns {string}
 */
function inOneLine(text) {
  return text.replace(UNSEEN, ' ').trim()
}

/**
 * @param {string} text
 * @returns {string}
 */
function firstCharacters(text) {
  // Twice as many code units hold as many code points.
  const characters = [...text.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS)
  return characters.join('').toWellFormed().trimEnd()
}
