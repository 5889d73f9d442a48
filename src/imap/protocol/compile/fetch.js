/**
 * FETCH responses, RFC 9051 §7.5.2, item by item, or a line of flags at once. No item makes a Buffer of its own.
 */
import { ownBytes } from '../../../support/own-bytes.js'
import { compileInternalDate } from '../values/internal-date.js'
import { maskNul } from './mask-nul.js'
import { putBytes, putNumber, NUMBER_BYTES } from './put.js'
import { compileNstring } from './quoted.js'
import { ResponseWriter } from './response-writer.js'

/** @typedef {import('../values/fetch-item.js').BinaryItem} BinaryItem */
/** @typedef {import('../values/fetch-item.js').SectionItem} SectionItem */
/** @typedef {import('../values/internal-date.js').InternalDate} InternalDate */

const OPEN = Buffer.from(' FETCH (')
const UID = Buffer.from('UID ')
const MODSEQ = Buffer.from('MODSEQ (')
const STAR = 42
const SPACE = 32
const CLOSE = 41
const CR = 13
const LF = 10
/** What is in a line of flags beside them, and more. */
const LINE_BYTES = 3 * NUMBER_BYTES + 64

/** The items of at most so many combinations of flags are kept: more than any mailbox was seen to have. */
const MAX_FLAG_ITEMS = 1024

/** Writes FETCH responses into one growing buffer: `begin`, items, `end`, and so on; then `handTo`. */
export class FetchWriter {
  #writer = new ResponseWriter()
  #isFirst = true
  /**
   * The FLAGS items of the lines, by text: few differ.
   *
   * @type {Map<string, Buffer>}
   */
  #flagItems = new Map()

  /** @returns {number} bytes that were written and not handed over */
  get length() {
    return this.#writer.length
  }

  /**
   * @param {number} sequenceNumber
   * @returns {this}
   */
  begin(sequenceNumber) {
    this.#writer.ascii('* ').number(sequenceNumber).ascii(' FETCH (')
    this.#isFirst = true
    return this
  }

  /** @returns {this} */
  end() {
    this.#writer.ascii(')\r\n')
    return this
  }

  /**
   * @param {number} uid
   * @returns {this}
   */
  uid(uid) {
    this.#name('UID ').number(uid)
    return this
  }

  /**
   * @param {string} wire - the flags with spaces between: `\Seen $Junk`
   * @returns {this}
   */
  flags(wire) {
    this.#name('FLAGS (').ascii(wire).ascii(')')
    return this
  }

  /**
   * A whole response of numbers and flags, as clients ask for whole mailboxes: the same as by `begin`, the items and
   * `end`, and while that is not compiled yet in a third of the time (measured).
   *
   * @param {number} sequenceNumber
   * @param {number} uid - -1: not told
   * @param {Buffer | null} flags - of `flagItem`; null: not told
   * @param {number} modSeq - -1: not told
   * @returns {number} `length`
   */
  flagLine(sequenceNumber, uid, flags, modSeq) {
    const writer = this.#writer
    const target = writer.room(LINE_BYTES + (flags === null ? 0 : flags.length))
    let at = writer.length
    target[at++] = STAR
    target[at++] = SPACE
    at = putBytes(target, putNumber(target, at, sequenceNumber), OPEN)
    if (uid >= 0) at = putNumber(target, putBytes(target, at, UID), uid)
    if (flags !== null) {
      if (uid >= 0) target[at++] = SPACE
      at = putBytes(target, at, flags)
    }
    if (modSeq >= 0) {
      if (uid >= 0 || flags !== null) target[at++] = SPACE
      at = putNumber(target, putBytes(target, at, MODSEQ), modSeq)
      target[at++] = CLOSE
    }
    target[at++] = CLOSE
    target[at++] = CR
    target[at++] = LF
    writer.endAt(at)
    return at
  }

  /**
   * @param {string} wire - the flags as `flags` takes them
   * @returns {Buffer} what `flagLine` takes
   */
  flagItem(wire) {
    let item = this.#flagItems.get(wire)
    if (item === undefined) {
      if (this.#flagItems.size >= MAX_FLAG_ITEMS) this.#flagItems.clear()
      item = ownBytes(Buffer.from(`FLAGS (${wire})`, 'latin1'))
      this.#flagItems.set(wire, item)
    }
    return item
  }

  /**
   * @param {InternalDate} date
   * @returns {this}
   */
  internalDate(date) {
    this.#name('INTERNALDATE ').ascii(compileInternalDate(date))
    return this
  }

  /**
   * @param {InternalDate} date
   * @returns {this} RFC 8514 §4.2
   */
  saveDate(date) {
    this.#name('SAVEDATE ').ascii(compileInternalDate(date))
    return this
  }

  /**
   * @param {string} id
   * @returns {this} RFC 8474 §5.1
   */
  emailId(id) {
    this.#name('EMAILID (').ascii(id).ascii(')')
    return this
  }

  /**
   * @param {string} id
   * @returns {this} RFC 8474 §5.2
   */
  threadId(id) {
    this.#name('THREADID (').ascii(id).ascii(')')
    return this
  }

  /**
   * @param {number} bytes
   * @returns {this}
   */
  size(bytes) {
    this.#name('RFC822.SIZE ').number(bytes)
    return this
  }

  /**
   * @param {number} modSeq
   * @returns {this} RFC 7162 §3.1.4.2
   */
  modSeq(modSeq) {
    this.#name('MODSEQ (').number(modSeq).ascii(')')
    return this
  }

  /**
   * @param {'ENVELOPE' | 'BODY' | 'BODYSTRUCTURE'} kind
   * @param {Buffer} wire - the item's value as it goes out
   * @returns {this}
   */
  structure(kind, wire) {
    this.#name(kind).ascii(' ').bytes(wire)
    return this
  }

  /**
   * @param {SectionItem | BinaryItem} item - of a part that is not there
   * @returns {this}
   */
  noSection(item) {
    this.#name(label(item)).ascii(' NIL')
    return this
  }

  /**
   * The beginning of a section whose bytes follow by other ways: by `bytes`, or past this writer after a `handTo`.
   * @param {SectionItem | BinaryItem} item
   * @param {number} sizeBytes - how many bytes must follow, exactly
   * @param {{ isLiteral8?: boolean }} [options] - `isLiteral8`: there is a NUL among them, RFC 3516 §4.3
   * @returns {this}
   */
  sectionHead(item, sizeBytes, { isLiteral8 = false } = {}) {
    const open = isLiteral8 ? ' ~{' : ' {'
    this.#name(label(item)).ascii(open).number(sizeBytes).ascii('}\r\n')
    return this
  }

  /**
   * @param {string | null} text - null: not made yet, and only what is there was asked for
   * @returns {this} RFC 8970 §3.2
   */
  preview(text) {
    this.#name('PREVIEW ').bytes(compileNstring(text))
    return this
  }

  /**
   * @param {BinaryItem} item
   * @param {number} sizeBytes - of the decoded section
   * @returns {this} RFC 3516 §4.3
   */
  binarySize(item, sizeBytes) {
    this.#name(item.label).ascii(' ').number(sizeBytes)
    return this
  }

  /**
   * @param {Buffer} content - a piece of the section whose head was written last
   * @returns {this}
   */
  bytes(content) {
    this.#writer.bytes(content)
    return this
  }

  /**
   * A structure that stands within a larger buffer.
   *
   * @param {'ENVELOPE' | 'BODYSTRUCTURE'} kind
   * @param {Buffer} source
   * @param {number} start
   * @param {number} end
   * @returns {this}
   */
  structureWithin(kind, source, start, end) {
    this.#name(kind)
      .ascii(' ')
      .direct(end - start, (target, at) => source.copy(target, at, start, end))
    return this
  }

  /**
   * A whole section that the caller writes into its place.
   *
   * @param {SectionItem} item
   * @param {number} sizeBytes
   * @param {(target: Buffer, at: number) => void} write - exactly as many bytes, from `at`
   * @param {number} [spare] - bytes behind these that may be written to and do not count
   * @returns {this}
   */
  sectionDirect(item, sizeBytes, write, spare) {
    this.#name(label(item))
      .ascii(' {')
      .number(sizeBytes)
      .ascii('}\r\n')
      .direct(sizeBytes, write, spare)
    return this
  }

  /**
   * To be called before what was written is handed over, if a text section is in it.
   *
   * @returns {this}
   */
  maskNul() {
    maskNul(this.#writer.peek())
    return this
  }

  /** Forgets all that was written. */
  clear() {
    this.#writer.endAt(0)
  }

  /**
   * Hands over what was written, if anything was; then the writer is empty.
   *
   * @param {(bytes: Buffer) => void} copy - keeps none of the bytes: their memory takes what comes next, because new memory
   *   cost more than the copy (measured)
   */
  handTo(copy) {
    if (this.#writer.length === 0) return
    copy(this.#writer.peek())
    this.clear()
  }

  /**
   * @param {string} name
   * @returns {ResponseWriter}
   */
  #name(name) {
    if (this.#isFirst) this.#isFirst = false
    else this.#writer.ascii(' ')
    return this.#writer.ascii(name)
  }
}

/**
 * @param {SectionItem | BinaryItem} item
 * @returns {string} with the origin of a partial range: `BODY[]<0>`
 */
function label({ label, partial }) {
  return partial === null ? label : `${label}<${partial.offset}>`
}
