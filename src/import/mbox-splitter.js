/**
 * Cuts an mbox (RFC 4155) into its messages, in any chunking and with bounded memory.
 *
 * A message begins at a line `From …` that stands first in the file or after an empty line. If the first such line has a
 * date, as it should, then each of them must have one: a paragraph that begins with the word From and was not quoted
 * does not tear a message apart. The empty line before a From_ line, and the last one of the file, belong to the mbox.
 * Some programs leave the empty line out: a From_ line with a date and a header field in the next line begins a message all the
 * same. So does a bare From_ line, without sender and date, that has a header field in the next line or, where no empty line
 * stands before it, a header in the next two: Thunderbird once wrote dates and no empty line, and now the opposite, into the
 * same file.
 *
 * A byte order mark at the begin of the file, as programs for Windows put it there, belongs to the mbox.
 *
 * Quoting: 'mboxrd' takes one `>` off every line `>From `, `>>From ` …; 'mboxo' takes it off `>From ` alone (a program
 * that quotes so leaves `>>From ` as it is, which cannot be told from a file); 'none' leaves lines as they are.
 */
import { MARK_BYTES, markEnd } from '../mime/header.js'
import { HEADER_FIELD, MAX_FROM_LINE_BYTES, trimLineEnd } from './line-ends.js'
import { FROM, isBareFromLine, marksEnd, parseFromLineDate } from './from-line.js'

/** @typedef {'mboxrd' | 'mboxo' | 'none'} MboxQuoting */
/** @typedef {{ kind: 'from', line: Buffer, offset: number } | { kind: 'bytes', bytes: Buffer }} MboxPiece */

const LF = 0x0a
const CR = 0x0d
const LETTER_F = 0x46

/** A quoted line has at most so many `>`, by dialect. */
const MAX_MARKS = { mboxrd: Infinity, mboxo: 1, none: 0 }

/** A header field, or what goes on with one (RFC 5322 §2.2.3). */
const HEADER_LINE = new RegExp(`${HEADER_FIELD.source}|^[ \\t]+\\S`)

const EMPTY = Buffer.alloc(0)

/** A push parser: chunks in, From_ lines and message bytes out. */
export class MboxSplitter {
  #maxMarks
  #carry = EMPTY
  #offset = 0
  #isAtStart = true
  #isAtLineStart = true
  /** Number of `>` of the line in hand that were passed on already, because it has more than can be held. */
  #marksBefore = 0
  #isAfterBlank = true
  #hasBegun = false
  #wantsDate = false

  /** @param {{ quoting?: MboxQuoting }} [options] */
  constructor({ quoting = 'mboxrd' } = {}) {
    this.#maxMarks = MAX_MARKS[quoting]
  }

  /**
   * @param {Buffer} chunk
   * @returns {MboxPiece[]} bytes before the first From_ line are pieces as well: the caller judges them
   */
  push(chunk) {
    const bytes = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk])
    this.#carry = EMPTY
    return this.#split(bytes, false)
  }

  /** @returns {MboxPiece[]} the last pieces */
  end() {
    const bytes = this.#carry
    this.#carry = EMPTY
    return this.#split(bytes, true)
  }

  /**
   * @param {Buffer} bytes
   * @param {boolean} isLast
   * @returns {MboxPiece[]}
   */
  #split(bytes, isLast) {
    /** @type {MboxPiece[]} */
    const pieces = []
    let pieceStart = 0
    const cut = (/** @type {number} */ end, /** @type {number} */ next) => {
      if (end > pieceStart) pieces.push({ kind: 'bytes', bytes: bytes.subarray(pieceStart, end) })
      pieceStart = next
    }
    if (this.#isAtStart) {
      if (bytes.length < MARK_BYTES && !isLast) {
        this.#carry = Buffer.from(bytes)
        return pieces
      }
      this.#isAtStart = false
      pieceStart = markEnd(bytes)
    }
    let at = pieceStart
    // Where the line before `at` begins when it is empty: it may turn out to belong to the mbox.
    let blankStart = -1
    while (at < bytes.length) {
      const newline = bytes.indexOf(LF, at)
      const end = newline === -1 ? bytes.length : newline + 1
      const isWhole = newline !== -1 || isLast
      if (this.#isAtLineStart) {
        if (!isWhole && end - at <= MAX_FROM_LINE_BYTES) break
        const line = bytes.subarray(at, end)
        const headerLines = this.#headerLinesNeeded(line)
        const hasHeader = headerLines > 0 && isHeaderAt(bytes, end, headerLines, isLast)
        if (hasHeader === null) break
        if (this.#isFromLine(line) || hasHeader) {
          cut(blankStart === -1 ? at : blankStart, end)
          const fromLine = Buffer.from(trimLineEnd(line))
          pieces.push({ kind: 'from', line: fromLine, offset: this.#offset + at })
        }
        blankStart = isBlank(line) ? at : -1
        this.#isAfterBlank = blankStart !== -1
        const marks = marksEnd(line, 0)
        if (marks > 0 && !isWhole && line.length - marks < FROM.length) {
          // The held bytes are full of `>`: all but the last are passed on.
          at += marks - 1
          this.#marksBefore += marks - 1
          break
        }
        if (marks > 0 && this.#isQuoted(line, marks)) cut(at, at + 1)
        this.#marksBefore = 0
      }
      this.#isAtLineStart = newline !== -1
      at = end
    }
    const heldFrom = blankStart === -1 ? at : blankStart
    cut(heldFrom, heldFrom)
    this.#offset += heldFrom
    if (!isLast) this.#carry = Buffer.from(bytes.subarray(heldFrom))
    return pieces
  }

  /**
   * The first such line also decides whether the others must have a date.
   *
   * @param {Buffer} line
   * @returns {boolean} whether it begins a message by itself
   */
  #isFromLine(line) {
    if (line[0] !== LETTER_F || !this.#isAfterBlank) return false
    if (line.length > MAX_FROM_LINE_BYTES || line.toString('latin1', 0, 5) !== 'From ') return false
    const hasDate = parseFromLineDate(trimLineEnd(line)) !== null
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#wantsDate = hasDate
      return true
    }
    return hasDate || !this.#wantsDate
  }

  /**
   * @param {Buffer} line
   * @returns {number} lines of a header that must follow for the line to begin a message although no empty line stands before it,
   *   or although it has no date; 0 where a header would not make the line begin one, or is not needed
   */
  #headerLinesNeeded(line) {
    if (line[0] !== LETTER_F || !this.#hasBegun) return 0
    if (line.length > MAX_FROM_LINE_BYTES || !line.subarray(0, FROM.length).equals(FROM)) return 0
    const text = trimLineEnd(line)
    const isBare = isBareFromLine(text.toString('latin1'))
    if (this.#isAfterBlank) return this.#wantsDate && isBare ? 1 : 0
    if (isBare) return 2
    return parseFromLineDate(text) === null ? 0 : 1
  }

  /**
   * @param {Buffer} line
   * @param {number} marks - the `>` that it begins with
   * @returns {boolean} whether one of these `>` is to be taken off
   */
  #isQuoted(line, marks) {
    if (this.#marksBefore + marks > this.#maxMarks) return false
    return line.subarray(marks, marks + FROM.length).equals(FROM)
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} start - of the line
 * @param {boolean} isLast - whether no more bytes follow
 * @returns {Buffer | null} the whole line, or the beginning of a long one; null where not enough of it has come yet
 */
function lineAt(bytes, start, isLast) {
  const longest = bytes.subarray(start, start + MAX_FROM_LINE_BYTES)
  const newline = longest.indexOf(LF)
  if (newline !== -1) return longest.subarray(0, newline + 1)
  return isLast || longest.length === MAX_FROM_LINE_BYTES ? longest : null
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} count - of lines, 1 or 2
 * @param {boolean} isLast - whether no more bytes follow
 * @returns {boolean | null} whether so many lines of a header begin there; null where they have not come yet
 */
function isHeaderAt(bytes, start, count, isLast) {
  const first = lineAt(bytes, start, isLast)
  if (first === null) return null
  if (!HEADER_FIELD.test(first.toString('latin1'))) return false
  // A header line so long that its end is not in sight is no line of a text, which would have to be told from a header.
  if (count === 1 || first.length === MAX_FROM_LINE_BYTES) return true
  const second = lineAt(bytes, start + first.length, isLast)
  return second && HEADER_LINE.test(second.toString('latin1'))
}

/**
 * @param {Buffer} line - with its line end
 * @returns {boolean} whether the line is empty
 */
function isBlank(line) {
  return line[0] === LF || (line[0] === CR && line[1] === LF)
}
