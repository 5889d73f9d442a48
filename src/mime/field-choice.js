/**
 * A choice of header fields for a list, copied out of what header-fields.js has stored of each message.
 */
import { numberOfFieldName } from './field-name.js'
import {
  APART_KINDS,
  BY_NAME_NUMBER,
  FIRST_LISTED,
  LISTED_FIELDS,
  PLACES
} from './listed-fields.js'
import { ENTRY_BYTES, NAME_BYTES, TOLD_BYTES, lengthAt, linesEnd } from './header-fields.js'

/** @typedef {import('./listed-fields.js').ApartKind} ApartKind */

/**
 * @typedef {{ bytes: Buffer, at: number }} LinesPlace - where a message's lines begin
 * @typedef {Record<ApartKind, LinesPlace>} ApartLines
 */

const BLANK_LINE = Buffer.from('\r\n')
const NOTHING = Buffer.alloc(0)

/** A choice of fields, or all of a header; made once for all commands that ask for the same. */
export class FieldChoice {
  #isChosen = new Uint8Array(256)
  /**
   * Those that not every entry tells: the field's number, which is Infinity where it is not listed, and that of its name.
   *
   * @type {{ number: number, nameNumber: number }[]}
   */
  #uncertain = []
  /** @type {ReadonlySet<ApartKind>} */
  #apart
  #isWhole
  /** What is added. */
  #end = BLANK_LINE

  /** @param {ReadonlyArray<string> | null} names - in any case, of ASCII characters; null: all of the header, as it stands */
  constructor(names) {
    this.#isWhole = names === null
    if (names === null) {
      this.#isChosen.fill(1)
      this.#apart = new Set(APART_KINDS)
      this.#end = NOTHING
      return
    }
    /** @type {Set<ApartKind>} */
    const apart = new Set()
    for (const name of names) {
      const nameNumber = numberOfFieldName(name)
      const number = listedNumber(name, nameNumber)
      if (number >= FIRST_LISTED) this.#uncertain.push({ number, nameNumber })
      if (number === Infinity) continue
      this.#isChosen[number] = 1
      const kind = APART_KINDS[/** @type {number} */ (PLACES[number]) - 1]
      if (kind) apart.add(kind)
    }
    this.#apart = apart
  }

  /** @returns {ReadonlySet<ApartKind>} which lines that stand apart are needed */
  get apart() {
    return this.#apart
  }

  /** @returns {boolean} whether each entry tells them, whatever other fields its message has */
  get isCertain() {
    return this.#uncertain.length === 0 && !this.#isWhole
  }

  /**
   * @param {Buffer} fields - has a message's entry
   * @param {number} start - where it begins
   * @param {number} end - exclusive
   * @returns {boolean} false: something of it may be in the header, and is not in the entry
   */
  isToldBy(fields, start, end) {
    if (this.isCertain) return true
    const knownAt = linesEnd(fields, start)
    if (knownAt >= end) return false
    if (this.#isWhole) return fields[knownAt + 1] === 1
    const known = /** @type {number} */ (fields[knownAt])
    for (const { number, nameNumber } of this.#uncertain)
      if (number >= known && hasOther(fields, knownAt + TOLD_BYTES, end, nameNumber)) return false
    return true
  }

  /**
   * @param {Buffer} fields - has a message's entry at `at`
   * @param {number} at
   * @returns {number} bytes of what `copy` writes
   */
  sizeOf(fields, at) {
    const isChosen = this.#isChosen
    const count = /** @type {number} */ (fields[at])
    let bytes = this.#end.length
    for (let line = 0, entry = at + 1; line < count; line++, entry += ENTRY_BYTES) {
      if (isChosen[/** @type {number} */ (fields[entry])] === 1) bytes += lengthAt(fields, entry)
    }
    return bytes
  }

  /**
   * Copies the chosen fields, each with its folds, and a blank line: the same bytes as `filterHeader` gives. Or the whole header.
   *
   * @param {Buffer} fields - has a message's entry, which tells them
   * @param {number} at - where it begins
   * @param {ApartLines} apart - of the same message, whose places are moved along; not looked at unless they are needed
   * @param {Buffer} target - with room for `sizeOf` bytes
   * @param {number} targetAt
   */
  copy(fields, at, { received, signatures, rest }, target, targetAt) {
    const isChosen = this.#isChosen
    const count = /** @type {number} */ (fields[at])
    let lines = at + 1 + count * ENTRY_BYTES
    let to = targetAt
    // Chosen lines that are neighbours are copied as one run.
    let run = lines
    for (let line = 0, entry = at + 1; line < count; line++, entry += ENTRY_BYTES) {
      const number = /** @type {number} */ (fields[entry])
      const length = lengthAt(fields, entry)
      const place = PLACES[number]
      const isWanted = isChosen[number] === 1
      if (place === 0) {
        if (!isWanted) {
          to += copyRun(fields, run, lines, target, to)
          run = lines + length
        }
        lines += length
        continue
      }
      const source = place === 1 ? received : place === 2 ? signatures : rest
      if (isWanted) {
        to += copyRun(fields, run, lines, target, to)
        run = lines
        to += copyRun(source.bytes, source.at, source.at + length, target, to)
      }
      source.at += length
    }
    to += copyRun(fields, run, lines, target, to)
    this.#end.copy(target, to)
  }
}

/** All of a header. */
export const WHOLE_HEADER = new FieldChoice(null)

/**
 * @param {readonly string[]} names - in any case
 * @returns {FieldChoice | null} null where a name is none that a field could have: lists tell nothing about it
 */
export function chooseFields(names) {
  return names.every((name) => /^[!-9;-~]+$/.test(name)) ? new FieldChoice(names) : null
}

/**
 * @param {Buffer} fields
 * @param {number} from - where the numbers of other names begin
 * @param {number} to - exclusive
 * @param {number} nameNumber
 * @returns {boolean}
 */
function hasOther(fields, from, to, nameNumber) {
  for (let at = from; at < to; at += NAME_BYTES) {
    const low = /** @type {number} */ (fields[at])
    const high = /** @type {number} */ (fields[at + 1])
    if (low + high * 256 === nameNumber) return true
  }
  return false
}

/**
 * @param {Buffer} source
 * @param {number} from
 * @param {number} to
 * @param {Buffer} target
 * @param {number} targetAt
 * @returns {number} bytes copied
 */
function copyRun(source, from, to, target, targetAt) {
  return from === to ? 0 : source.copy(target, targetAt, from, to)
}

/**
 * @param {string} name - in any case
 * @param {number} nameNumber - its number
 * @returns {number} of the field; Infinity where it is not listed
 */
function listedNumber(name, nameNumber) {
  const number = BY_NAME_NUMBER.get(nameNumber) ?? Infinity
  return LISTED_FIELDS[number] === name.toLowerCase() ? number : Infinity
}
