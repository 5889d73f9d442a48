/**
 * The layout of a segment: an immutable part of the index, made of some contents. It is a list of terms in ascending
 * order, each with its list of postings, cut into blocks:
 *
 * - term blocks: terms of one class, the bytes of each list, and where the first list begins;
 * - posting blocks: one stream of lists, cut at fixed lengths;
 * - the directory, kept with the segment's row: class and first term of each term block.
 *
 * A posting is (content id - `base` of the segment) * 2, plus 1 when the term is in the message's own header. Terms are
 * UTF-8, written as strings of one character a byte, so that strings, blobs and blocks have the same order.
 */
import { compressFrame, decompressFrame } from '../zstd.js'
import { MailError } from '../../errors.js'
import { ByteSink, NumberReader } from './postings.js'

/** The classes of terms, in their order in a segment. */
export const TERM_CLASS = Object.freeze({
  /** One empty term: the contents of the segment. */
  CONTENTS: 0,
  /** Runs as they stand. */
  WHOLE: 1,
  /** Trigrams of long runs. */
  GRAM: 2,
  /** Values of Message-ID; the separator alone stands for one that is not here. */
  ID: 3,
  /** Three bytes in a row of a term of class WHOLE; its postings are numbers of term blocks of that class. */
  PART: 4
})

/** Stands around each term in a block, so that beginning and end of a term can be looked for; UTF-8 never has it. */
export const EDGE = 0xff

/** Bytes of terms in a block, which is read as a whole for one term: packed, it still fits into one page. */
export const TERM_BLOCK_BYTES = 8 * 1024

/** Bytes of postings in a block: the same. */
export const POSTING_BLOCK_BYTES = 8 * 1024

/** Rows of one segment: term blocks from 0, posting blocks from half of it. */
const ROWS = 2 ** 21
const FIRST_POSTING_ROW = 2 ** 20

/** No block is longer when it is unpacked, bytes. */
const MAX_BLOCK_BYTES = 1024 * 1024

/**
 * The directory has at most so many bytes of a block's first term. Runs and trigrams must stand there whole, and are never
 * longer; only values of Message-ID are, and these are always looked through from the first to the last.
 */
const MAX_FIRST_BYTES = 72

/** No directory is longer when it is unpacked, bytes: that of as many term blocks as a segment can have. */
export const MAX_DIRECTORY_BYTES = FIRST_POSTING_ROW * (MAX_FIRST_BYTES + 2)

/**
 * @param {number} segmentId
 * @param {number} number - of the term block
 * @returns {number} search_blocks.id
 */
export const termRow = (segmentId, number) => segmentId * ROWS + number

/**
 * @param {number} segmentId
 * @param {number} number - of the posting block
 * @returns {number} search_blocks.id
 */
export const postingRow = (segmentId, number) => segmentId * ROWS + FIRST_POSTING_ROW + number

/**
 * @param {string} text
 * @returns {string} its UTF-8, a character a byte
 */
export const toBinary = (text) =>
  /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text

/**
 * @param {string} binary
 * @returns {string} what it was made of
 */
export const fromBinary = (binary) =>
  /[^\0-\x7f]/.test(binary) ? Buffer.from(binary, 'latin1').toString() : binary

/**
 * @param {Buffer} raw
 * @returns {Buffer} as it is stored
 */
export function packBlock(raw) {
  const frame = compressFrame(raw)
  const head = Buffer.allocUnsafe(4)
  head.writeUInt32LE(raw.length)
  return Buffer.concat([head, frame])
}

/**
 * @param {Buffer} packed
 * @param {number} [maxBytes] - when it is unpacked
 * @returns {Buffer}
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function unpackBlock(packed, maxBytes = MAX_BLOCK_BYTES) {
  try {
    const expectedBytes = packed.readUInt32LE(0)
    const raw = decompressFrame(packed.subarray(4), { maxBytes, expectedBytes })
    if (raw.length === expectedBytes) return raw
  } catch (error) {
    throw damaged('does not unpack', error)
  }
  throw damaged('has another length')
}

/**
 * @param {string} what
 * @param {unknown} [cause]
 * @returns {MailError}
 */
export const damaged = (what, cause) =>
  new MailError('ACCOUNT_DAMAGED', { detail: `block of the search index ${what}`, cause })

/**
 * @typedef {object} TermBlock
 * @property {Buffer} terms - EDGE, a term, EDGE, a term, … EDGE
 * @property {number[]} offsets - where in the stream each list begins, and at last where the last one ends
 */

/**
 * @param {Buffer} terms - with their edges
 * @param {number[]} lengths - of the lists, bytes
 * @param {number} offset - where the first begins
 * @returns {Buffer}
 */
export function encodeTermBlock(terms, lengths, offset) {
  const sink = new ByteSink(terms.length + lengths.length * 2 + 16)
  sink.pushNumber(lengths.length)
  sink.pushNumber(offset)
  for (const length of lengths) sink.pushNumber(length)
  sink.pushBytes(terms)
  return sink.take()
}

/**
 * @param {Buffer} raw
 * @returns {TermBlock}
 */
export function decodeTermBlock(raw) {
  const reader = new NumberReader(raw)
  const count = reader.next()
  let offset = reader.next()
  const offsets = [offset]
  for (let index = 0; index < count; index++) offsets.push((offset += reader.next()))
  return { terms: raw.subarray(reader.at), offsets }
}

/**
 * @typedef {object} Directory
 * @property {number[]} classes - of each term block
 * @property {string[]} firsts - its first term, or the beginning of it
 */

/**
 * @param {Directory} directory
 * @returns {Buffer}
 */
export function encodeDirectory({ classes, firsts }) {
  const sink = new ByteSink(1024)
  for (const [index, whole] of firsts.entries()) {
    const first = whole.slice(0, MAX_FIRST_BYTES)
    sink.pushNumber(/** @type {number} */ (classes[index]))
    sink.pushNumber(first.length)
    sink.pushBinary(first)
  }
  return packBlock(sink.take())
}

/**
 * @param {Buffer} raw
 * @returns {Directory}
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function decodeDirectory(raw) {
  const reader = new NumberReader(raw)
  /** @type {Directory} */
  const directory = { classes: [], firsts: [] }
  try {
    while (reader.at < raw.length) {
      directory.classes.push(reader.next())
      const length = reader.next()
      directory.firsts.push(raw.toString('latin1', reader.at, reader.at + length))
      reader.at += length
    }
  } catch (error) {
    throw damaged('ends early', error)
  }
  return directory
}
