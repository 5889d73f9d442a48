/**
 * The first words of a message as text, RFC 8970 §3: from the text that a reader sees first. Of alternatives that is the
 * plain one, since they say the same; elsewhere the order decides: after a page in HTML, plain text is what a mailing
 * list adds to every message. What the sender quotes is left out, unless there is nothing else.
 *
 * @typedef {import('./part-tree.js').PartNode} PartNode
 * @typedef {import('./part-tree.js').PartTree} PartTree
 */
import { TextPartDecoder } from './text-extract.js'
import { createTransferDecoder } from './transfer-encoding.js'

/** RFC 8970 §3.3: no more than 200 characters, as code points. */
const PREVIEW_CHARACTERS = 200

/** At most so many bytes of all parts together are read: newsletters have up to 100 KiB of styles before their first word. */
export const MAX_PREVIEW_BYTES = 256 * 1024

/** At most so many parts are read until one has something to show: there may be a thousand blank ones. */
export const MAX_PREVIEW_PARTS = 8

/** At most so many characters of a line without an end are looked at: it may be nothing but white space. */
const MAX_BEGUN_CHARACTERS = 4_096

/** Subtypes of text that a preview can be made of. */
const READABLE = new Set(['plain', 'html'])

/** A line that begins a quotation, or is one. */
const QUOTED_LINE = /^\s*>/

/** Characters that only say where a line may end: soft hyphen, zero width space, word joiner, and the byte order mark. */
const BREAKS = /[\u00ad\u200b\u2060\ufeff]/g

/** White space, control characters, and characters with which newsletters fill their own previews. */
const BLANK = /(?:[\s\p{Cc}\u200c]|\u034f|\u200d)+/gu

/** The blanks of text in ASCII, as in most mail, found in a fraction of the time. */
const ASCII = /^[\0-\x7f]*$/
const ASCII_BLANK = /[\0-\x20\x7f]+/g

/** A blank that, by itself, is a part of the word or of the emoji in which it stands. */
const JOINER = /^(?:\u200c|\u034f|\u200d)$/

/**
 * @param {PartTree | PartNode} node
 * @returns {PartNode[]} the parts that a preview may be made of, the best first; none where there is nothing to show, as in
 *   encrypted mail. Newsletters have a plain text that is a blank line, letters a blank line before a picture: then it is
 *   the next one's turn.
 */
export function previewParts(node) {
  const { type, subtype } = node
  if (node.isAttachment || node.isMessage) return []
  if (type === 'text') return READABLE.has(subtype) && node.bodyEnd > node.headerEnd ? [node] : []
  if (subtype === 'encrypted') return []
  const found = node.children.map(previewParts)
  if (subtype !== 'alternative') return found.flat()
  const isPlain = (/** @type {PartNode[]} */ parts) => parts[0]?.subtype === 'plain'
  return [...found.filter(isPlain), ...found.filter((parts) => !isPlain(parts))].flat()
}

/** Takes the beginning of a part piece by piece, until there is enough for its preview. */
export class PreviewReader {
  /** False for an unknown encoding: nothing can be shown of such a part. */
  #isReadable
  #decoder
  /** The last line, as far as it has come. */
  #line = ''
  /** In one line: what was read so far, and what of it is no quotation. */
  #all = ''
  #own = ''

  /** @param {PartNode} node - one of `previewParts` */
  constructor(node) {
    this.#isReadable = createTransferDecoder(node.encoding) !== null
    this.#decoder = new TextPartDecoder(node, { isPreview: true })
  }

  /**
   * @param {Buffer} bytes - the next ones of its body; MAX_PREVIEW_BYTES are looked at
   * @returns {boolean} whether that is enough
   */
  push(bytes) {
    if (!this.#isReadable) return true
    this.#take(this.#decoder.push(bytes))
    if (hasEnough(this.#own)) return true
    // The line is looked at before its end, because a page may be one line.
    const begun = this.#line.slice(0, MAX_BEGUN_CHARACTERS)
    return !QUOTED_LINE.test(begun) && hasEnough(joined(this.#own, begun))
  }

  /** @returns {string} in one line; empty when there is nothing to show */
  end() {
    if (this.#isReadable) {
      this.#take(this.#decoder.end())
      this.#keep([this.#line])
    }
    return firstCharacters(this.#own || this.#all)
  }

  /** @param {string} text */
  #take(text) {
    const lines = (this.#line + text).split(/\r\n|\r|\n/)
    this.#line = lines.pop() ?? ''
    this.#keep(lines)
  }

  /** @param {string[]} lines - whole ones */
  #keep(lines) {
    const own = lines.filter((line) => !QUOTED_LINE.test(line))
    const isAllOwn = own.length === lines.length && this.#all === this.#own
    this.#own = joined(this.#own, own.join(' '))
    if (isAllOwn) this.#all = this.#own
    else if (!hasEnough(this.#all)) this.#all = joined(this.#all, lines.join(' '))
  }
}

/**
 * @param {string} before - in one line
 * @param {string} text
 * @returns {string} both, in one line
 */
function joined(before, text) {
  const line = inOneLine(text)
  return before && line ? `${before} ${line}` : before || line
}

/**
 * @param {string} line
 * @returns {boolean} whether no more of it would be shown
 */
const hasEnough = (line) => line.length >= 2 * PREVIEW_CHARACTERS

/**
 * @param {string} text
 * @returns {string}
 */
function inOneLine(text) {
  if (ASCII.test(text)) return text.replace(ASCII_BLANK, ' ').trim()
  return text
    .replace(BREAKS, '')
    .replace(BLANK, (run, /** @type {number} */ at, /** @type {string} */ whole) => {
      const isInWord = at > 0 && at + run.length < whole.length
      return isInWord && JOINER.test(run) ? run : ' '
    })
    .trim()
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
