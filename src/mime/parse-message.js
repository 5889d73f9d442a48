/**
 * The one pass over a message: bytes in any pieces go in, a tree of parts with exact offsets comes out. Nothing of a
 * body is kept, headers up to a bound (limits.js), and nothing makes it fail: broken MIME gives another tree, never
 * an error. RFC 5322 §2.1, RFC 2046 §5.1.
 *
 * Time is linear in the size: a body is searched for "line end, two dashes" by the machine's own search, a line that
 * begins so is compared with at most MAX_NESTING boundaries, and at most MAX_DELIMITER_LINE_BYTES are carried from
 * one piece to the next.
 *
 * Line ends: LF with or without CR. A message that has no LF at all (in its first LINE_END_PROBE_BYTES), but CR, is
 * taken to end its lines by CR.
 *
 * @typedef {import('./open-part.js').OpenPart} OpenPart
 * @typedef {import('./part.js').Part} Part
 *
 * @typedef {object} ParsedMessage
 * @property {number} size - bytes of the message
 * @property {Part} root
 */
import {
  LINE_END_PROBE_BYTES,
  MAX_DELIMITER_LINE_BYTES,
  MAX_HEADER_BLOCK_BYTES,
  MAX_HEADER_BYTES,
  MAX_NESTING,
  MAX_PARTS
} from './limits.js'
import { countByte, nextByte } from './byte-search.js'
import { ByteWriter } from './byte-writer.js'
import { HeaderBoundary } from './header-boundary.js'
import { ownerOf } from './open-part.js'
import { boundaryIn, describePart, makeOpaque, newPart, wholeBody } from './part.js'
import { readPartHeader } from './part-header.js'

const LF = 10
const CR = 13
const DASH = 45
const EMPTY = Buffer.alloc(0)

/** The beginning of a delimiter line with the line end before it, by the byte that ends lines. */
const DELIMITER_STARTS = {
  [LF]: Buffer.from([LF, DASH, DASH]),
  [CR]: Buffer.from([CR, DASH, DASH])
}

/** A blank line has at most so many CRs before its LF: some gateways double them. */
const MAX_BLANK_BYTES = 8

/**
 * Reads one message. `push` the bytes as they come, then call `end` once.
 */
export class MessageParser {
  #size = 0
  /** Bytes that have not been looked at yet: the beginning of a line that the next piece decides. */
  #carry = EMPTY
  /**
   * The first pieces, until it is known which byte ends lines.
   * @type {Buffer[]}
   */
  #probe = []
  #newline = 0
  #delimiterStart = EMPTY
  #isInHeader = true
  #isAtLineStart = true
  /** Bytes of the line end before the present line. */
  #newlineBytes = 0
  /** Line ends before the present place. */
  #lines = 0
  #lastByte = 0
  /** The header block that is being read. */
  #header = new ByteWriter(4096)
  #headerBoundary = new HeaderBoundary()
  #headerBudget = MAX_HEADER_BYTES
  #partCount = 1
  /**
   * From the root to the part that is being read.
   * @type {OpenPart[]}
   */
  #open
  /** @type {Part} */
  #root
  /** Whether some open multipart has a boundary to look for. */
  #hasBoundaries = false

  /** Starts at the first byte of the message. */
  constructor() {
    this.#root = newPart(0)
    this.#open = [{ part: this.#root, boundary: null, isMessageRoot: true, linesBefore: 0 }]
  }

  /** @param {Buffer} chunk - the next bytes; not kept after the call */
  push(chunk) {
    if (chunk.length === 0) return
    this.#size += chunk.length
    if (this.#newline !== 0) this.#read(chunk)
    else if (this.#size >= LINE_END_PROBE_BYTES || chunk.includes(LF)) this.#startReading(chunk)
    else this.#probe.push(Buffer.from(chunk))
  }

  /**
   * @returns {ParsedMessage}
   */
  end() {
    if (this.#newline === 0) this.#startReading(EMPTY)
    const rest = this.#carry
    this.#carry = EMPTY
    if (rest.length > 0) this.#scan(rest, this.#size - rest.length, true)
    // Ending one header can open another: that of an empty message inside.
    while (this.#isInHeader) this.#endHeader(this.#size)
    this.#closeParts(0, this.#size, this.#lines)
    return { size: this.#size, root: this.#root }
  }

  /** @param {Buffer} chunk - the first bytes, enough to tell which byte ends lines */
  #startReading(chunk) {
    const start = this.#probe.length === 0 ? chunk : Buffer.concat([...this.#probe, chunk])
    this.#probe = []
    const probed = start.subarray(0, LINE_END_PROBE_BYTES)
    const newline = !probed.includes(LF) && probed.includes(CR) ? CR : LF
    this.#newline = newline
    this.#delimiterStart = DELIMITER_STARTS[newline]
    this.#read(start)
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    const carried = this.#carry.length
    const bytes = carried === 0 ? chunk : Buffer.concat([this.#carry, chunk])
    const base = this.#size - bytes.length
    const done = this.#scan(bytes, base, false)
    this.#carry = done === bytes.length ? EMPTY : Buffer.from(bytes.subarray(done))
    if (done > 0) this.#lastByte = bytes[done - 1] ?? 0
  }

  /**
   * @param {Buffer} bytes
   * @param {number} base - offset of the first byte in the message
   * @param {boolean} isLast - whether nothing follows
   * @returns {number} how many were used up
   */
  #scan(bytes, base, isLast) {
    let at = 0
    while (at < bytes.length) {
      if (!this.#isAtLineStart) at = this.#skipLine(bytes, at)
      else {
        const next = this.#lineStart(bytes, at, base, isLast)
        if (next === -1) break
        at = next
      }
    }
    return at
  }

  /**
   * Looks at a line's begin: blank line, delimiter, or neither.
   * @param {Buffer} bytes
   * @param {number} at
   * @param {number} base
   * @param {boolean} isLast
   * @returns {number} the place to go on from, or -1 when more bytes must be seen
   */
  #lineStart(bytes, at, base, isLast) {
    const first = bytes[at]
    if (this.#isInHeader && (first === CR || first === LF)) {
      let end = at
      while (end < bytes.length && bytes[end] !== this.#newline && end - at < MAX_BLANK_BYTES) {
        if (bytes[end] !== CR && bytes[end] !== LF) break
        end++
      }
      if (end === bytes.length && !isLast) return -1
      if (bytes[end] === this.#newline || (end === bytes.length && isLast)) {
        const lineEnd = Math.min(end + 1, bytes.length)
        this.#keepHeader(bytes, at, lineEnd)
        if (bytes[end] === this.#newline) this.#noteLineEnd(bytes, end)
        this.#endHeader(base + lineEnd)
        return lineEnd
      }
    }
    if (first === DASH && (this.#hasBoundaries || this.#isInHeader)) {
      const next = this.#delimiterLine(bytes, at, base, isLast)
      if (next !== at) return next
    }
    this.#isAtLineStart = false
    return at
  }

  /**
   * @param {Buffer} bytes
   * @param {number} at - place of a dash that begins a line
   * @param {number} base
   * @param {boolean} isLast
   * @returns {number} as `#lineStart`; `at` where the line is no delimiter
   */
  #delimiterLine(bytes, at, base, isLast) {
    if (at + 1 === bytes.length && !isLast) return -1
    if (bytes[at + 1] !== DASH) return at
    const end = bytes.indexOf(this.#newline, at)
    const length = (end === -1 ? bytes.length : end) - at
    if (length > MAX_DELIMITER_LINE_BYTES) return at
    if (end === -1 && !isLast) return -1
    const lineEnd = end === -1 ? bytes.length : end + 1
    const line = bytes.toString('latin1', at + 2, at + length).trimEnd()
    if (!this.#delimiter(line, base + at, base + lineEnd)) return at
    this.#newlineBytes = 0
    if (end !== -1) this.#noteLineEnd(bytes, end)
    return lineEnd
  }

  /**
   * Goes to the next line that must be looked at: the next one in a header, the next that begins with dashes in a
   * body.
   * @param {Buffer} bytes
   * @param {number} at
   * @returns {number}
   */
  #skipLine(bytes, at) {
    if (this.#isInHeader) {
      const end = nextByte(bytes, this.#newline, at)
      const lineEnd = end === -1 ? bytes.length : end + 1
      this.#keepHeader(bytes, at, lineEnd)
      if (end !== -1) this.#noteLineEnd(bytes, end)
      return lineEnd
    }
    const found = this.#hasBoundaries ? bytes.indexOf(this.#delimiterStart, at) : -1
    // Without a delimiter's beginning, the piece may still end in the first one or two bytes of it.
    const last = bytes.length - 1
    let end = found
    if (end === -1 && bytes[last] === this.#newline) end = last
    else if (end === -1 && last > at && bytes[last] === DASH && bytes[last - 1] === this.#newline)
      end = last - 1
    const until = end === -1 ? bytes.length : end
    this.#lines += countByte(bytes, this.#newline, at, until)
    if (end === -1) return until
    this.#noteLineEnd(bytes, end)
    return end + 1
  }

  /**
   * @param {Buffer} bytes
   * @param {number} at - place of the line end
   */
  #noteLineEnd(bytes, at) {
    const before = at > 0 ? bytes[at - 1] : this.#lastByte
    this.#newlineBytes = this.#newline === LF && before === CR ? 2 : 1
    this.#lines++
    this.#isAtLineStart = true
  }

  /**
   * @param {Buffer} bytes
   * @param {number} from
   * @param {number} to
   */
  #keepHeader(bytes, from, to) {
    const length = Math.min(to - from, MAX_HEADER_BLOCK_BYTES - this.#header.length)
    if (length > 0) this.#header.append(bytes.subarray(from, from + length))
  }

  /**
   * The header of the innermost part is complete: its body begins, or that of a message inside it.
   * @param {number} offset - of the body
   */
  #endHeader(offset) {
    const block = this.#header.bytes.subarray(0, this.#header.length)
    const opened = this.#innermost()
    const { part, isMessageRoot } = opened
    const { header, keptBytes } = readPartHeader(block, {
      isMessage: isMessageRoot,
      isTop: part === this.#root,
      budgetBytes: this.#headerBudget
    })
    this.#headerBudget -= keptBytes
    this.#header.length = 0
    this.#headerBoundary.reset()
    const parent = this.#open.at(-2)?.part
    const isInDigest =
      parent !== undefined && parent.type === 'multipart' && parent.subtype === 'digest'
    describePart(part, header, isInDigest)
    part.headerEnd = offset
    opened.linesBefore = this.#lines
    this.#isInHeader = false
    const isContainer = part.type === 'multipart' || part.isMessage
    if (isContainer && (this.#open.length >= MAX_NESTING || this.#partCount >= MAX_PARTS))
      makeOpaque(part)
    else if (part.isMessage) this.#openPart(part, offset, true)
    else if (part.type === 'multipart') {
      const boundary = boundaryIn(part.params)
      opened.boundary = boundary
      if (boundary !== null) this.#hasBoundaries = true
    }
  }

  /**
   * @param {Part} parent
   * @param {number} offset - of its header
   * @param {boolean} isMessageRoot
   */
  #openPart(parent, offset, isMessageRoot) {
    const part = newPart(offset)
    parent.children.push(part)
    this.#partCount++
    this.#open.push({ part, boundary: null, isMessageRoot, linesBefore: this.#lines })
    this.#isInHeader = true
    this.#isAtLineStart = true
  }

  /**
   * RFC 2046 §5.1.1: whether a line that begins with two dashes is a delimiter, of the innermost multipart that it
   * fits; if so, parts end and begin here. The whole line must fit (white space at its end aside), as in all the
   * mail programs that will show the message, although the standard would have a prefix suffice.
   * @param {string} line - what follows the dashes
   * @param {number} offset - of the line in the message
   * @param {number} next - of the line after it
   * @returns {boolean} whether the line was a delimiter, and parts have ended or begun at it
   */
  #delimiter(line, offset, next) {
    const found = ownerOf(this.#open, line) ?? this.#ownerInHeader(line, offset)
    const owner = found && this.#open[found.index]
    if (!owner) return false
    const { index, isClosing } = found
    if (!isClosing && this.#partCount >= MAX_PARTS) {
      // The part before takes all the rest, so that the tree is bounded and nothing is lost.
      for (const opened of this.#open) opened.boundary = null
      this.#hasBoundaries = false
      return false
    }
    if (this.#isInHeader) this.#endHeaderAtDelimiter(offset)
    this.#closeParts(index + 1, offset - this.#newlineBytes, this.#lines - 1)
    if (isClosing) {
      owner.boundary = null
      this.#hasBoundaries = this.#open.some(({ boundary }) => boundary !== null)
      this.#isInHeader = false
    } else this.#openPart(owner.part, next, false)
    return true
  }

  /**
   * A multipart's first delimiter ends the header where the blank line is missing, as in other mail programs: else the
   * first part would be hidden among the fields.
   * @param {string} line - what follows the dashes
   * @param {number} offset - of the line
   * @returns {ReturnType<typeof ownerOf>} null where the line ends no header
   */
  #ownerInHeader(line, offset) {
    if (!this.#isInHeader || line === '') return null
    const header = this.#header.bytes.subarray(0, this.#header.length)
    if (this.#headerBoundary.find(header) !== line) return null
    this.#endHeader(offset)
    return ownerOf(this.#open, line)
  }

  /**
   * Ends a header at a delimiter within it, and also the header of the message inside, where the part turns out to be one.
   * @param {number} offset
   */
  #endHeaderAtDelimiter(offset) {
    while (this.#isInHeader) {
      this.#endHeader(offset)
      // A multipart that ends where it begins does not own this delimiter.
      this.#innermost().boundary = null
    }
  }

  /**
   * Closes the open parts from a level on.
   * @param {number} level - index of the outermost one
   * @param {number} bodyEnd
   * @param {number} lines - line ends of the message before `bodyEnd`
   */
  #closeParts(level, bodyEnd, lines) {
    while (this.#open.length > level) {
      const opened = this.#open.pop()
      if (!opened) return
      const { part, linesBefore } = opened
      // An empty part begins after the very line end that the delimiter claims; the parts around it reach as far.
      part.bodyEnd = Math.max(bodyEnd, part.headerEnd, part.children.at(-1)?.bodyEnd ?? 0)
      part.lines = lines - linesBefore + (part.bodyEnd > bodyEnd ? 1 : 0)
      if (part.type === 'multipart' && part.children.length === 0)
        part.children.push(wholeBody(part))
    }
  }

  /** @returns {OpenPart} */
  #innermost() {
    const opened = this.#open.at(-1)
    if (!opened) throw new RangeError('the root part stays open until the end')
    return opened
  }
}

/**
 * Reads a message that is in memory as a whole.
 * @param {Buffer} bytes
 * @returns {ParsedMessage}
 */
export function parseMessage(bytes) {
  const parser = new MessageParser()
  parser.push(bytes)
  return parser.end()
}
