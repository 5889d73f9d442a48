/**
 * An mbox, packed or not, read in one pass: the messages come in the file's order, one at a time.
 */
import { basename } from 'node:path'
import { MailError } from '../errors.js'
import { markEnd } from '../mime/header.js'
import { findAddedLines, withoutAdded } from './added-lines.js'
import { openBytes } from './byte-source.js'
import { isBareFromLine, parseFromLineDate } from './from-line.js'
import { HEADER_FIELD } from './line-ends.js'
import { flagsFromHeader } from './mailbox-headers.js'
import { MboxSplitter } from './mbox-splitter.js'

/** @typedef {import('./byte-source.js').ByteSource} ByteSource */
/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/** @typedef {import('./mbox-splitter.js').MboxPiece} MboxPiece */
/** @typedef {import('./mbox-splitter.js').MboxQuoting} MboxQuoting */

/** The header, in which the flags stand, is looked at for at most so many bytes. */
export const HEADER_LOOK_BYTES = 64 * 1024

/** Ending of an mbox, packed or not. */
export const MBOX_ENDING = /\.mbox(\.gz|\.zst)?$/i

/**
 * @param {string} place - of a file
 * @returns {boolean} whether it is called as mboxes are
 */
export const isMboxName = (place) => MBOX_ENDING.test(place) || /(^|\/)mbox$/.test(place)

/** So many bytes hold the first two lines of an mbox. */
export const MBOX_HEAD_BYTES = 1024

/**
 * @param {string} place - of a file among others
 * @param {Buffer} bytes - its first ones
 * @returns {boolean} whether it is an mbox: a text may begin with the word From
 */
export function isMboxHead(place, bytes) {
  const text = bytes.toString('latin1', markEnd(bytes)).trimStart()
  const [line = '', next = ''] = text.split(/\r?\n/, 2)
  if (!line.startsWith('From ')) return false
  const isDated = parseFromLineDate(Buffer.from(line, 'latin1')) !== null
  return isDated || (isBareFromLine(line) && HEADER_FIELD.test(next)) || isMboxName(place)
}

/** A header ends with at most so many bytes: `\n\r\n`. */
const HEADER_END_BYTES = 3

/**
 * Tells the first message of an mbox in which UW IMAP, Alpine and Dovecot keep the folder's own data: none of them shows it.
 */
const FOLDER_DATA = [
  /^X-IMAP: *\d+ +\d+/im,
  /^Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\r?$/im
]

/**
 * @param {string | Buffer} path
 * @param {{ quoting?: MboxQuoting, place?: string }} [options] - `place`: relative to the source, for reports; default: its name
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws; its items throw MailError FORMAT_UNKNOWN when the file is no mbox after all
 */
export async function openMbox(path, { quoting = 'mboxrd', place = basename(String(path)) } = {}) {
  const bytes = await openBytes(path)
  return {
    name: place,
    format: 'mbox',
    unit: 'bytes',
    total: bytes.totalBytes,
    ignoredCount: 0,
    get position() {
      return bytes.bytesRead
    },
    async *items() {
      try {
        yield* readItems(place, new PieceReader(bytes, new MboxSplitter({ quoting })))
      } finally {
        bytes.close()
      }
    }
  }
}

/**
 * @param {string} fileName
 * @param {PieceReader} pieces
 * @returns {AsyncGenerator<ImportItem>}
 */
async function* readItems(fileName, pieces) {
  for (let number = 0; ; number++) {
    const start = await pieces.nextFromLine((bytes) => {
      if (number === 0 && bytes.some((byte) => !isSpace(byte))) {
        throw new MailError('FORMAT_UNKNOWN', { detail: 'bytes before the first From_ line' })
      }
    })
    if (!start) return
    const head = await pieces.takeHeader(HEADER_LOOK_BYTES)
    const header = headerOf(Buffer.concat(head))
    const added = findAddedLines(header)
    if (number === 0 && !added && isFolderData(header)) continue
    yield {
      name: `${fileName}: message ${number + 1} at byte ${start.offset}`,
      importKeyParts: null,
      folder: [],
      flags: flagsFromHeader(added?.bytes ?? header),
      internalDate: parseFromLineDate(start.line),
      fallbackDate: null,
      hasFromLine: false,
      sizeHint: null,
      open: () =>
        added
          ? withoutAdded(pieces.readMessage(head), added.bytes.length, added.isUnended)
          : pieces.readMessage(head)
    }
  }
}

/**
 * @param {Buffer} header - of the first message
 * @returns {boolean} whether it is the mail program's own
 */
function isFolderData(header) {
  const text = header.toString('latin1')
  return FOLDER_DATA.every((field) => field.test(text))
}

/** The pieces of a splitter, pulled one at a time. */
class PieceReader {
  #chunks
  #splitter
  /** @type {MboxPiece[]} */
  #queue = []
  #at = 0
  #isDone = false
  /** @type {unknown} */
  #failure = null

  /**
   * @param {ByteSource} bytes
   * @param {MboxSplitter} splitter
   */
  constructor(bytes, splitter) {
    this.#chunks = bytes.chunks[Symbol.asyncIterator]()
    this.#splitter = splitter
  }

  /**
   * Goes to the next message, past the rest of the one before.
   *
   * @param {(bytes: Buffer) => void} onBytes - is given the skipped bytes
   * @returns {Promise<Extract<MboxPiece, { kind: 'from' }> | null>} null at the end
   */
  async nextFromLine(onBytes) {
    for (;;) {
      const piece = await this.#peek()
      if (!piece) return null
      this.#at++
      if (piece.kind === 'from') return piece
      onBytes(piece.bytes)
    }
  }

  /**
   * @param {number} limitBytes
   * @returns {Promise<Buffer[]>} the message's first bytes, the whole header if it ends within the limit
   */
  async takeHeader(limitBytes) {
    /** @type {Buffer[]} */
    const taken = []
    let last = Buffer.alloc(0)
    for (let size = 0; size < limitBytes;) {
      const piece = await this.#peek()
      if (piece?.kind !== 'bytes') break
      this.#at++
      taken.push(piece.bytes)
      size += piece.bytes.length
      // A header of quoted lines comes in thousands of pieces: none is looked through twice.
      const fresh = Buffer.concat([last, piece.bytes])
      if (headerLength(fresh) !== -1) break
      last = fresh.subarray(-HEADER_END_BYTES + 1)
    }
    return taken
  }

  /**
   * @param {Buffer[]} head - the pieces that were taken of the message already
   * @returns {AsyncGenerator<Buffer>}
   */
  async *readMessage(head) {
    yield* head
    for (;;) {
      const piece = await this.#peek()
      if (piece?.kind !== 'bytes') return
      this.#at++
      yield piece.bytes
    }
  }

  /**
   * @returns {Promise<MboxPiece | null>}
   * @throws what reading the file has thrown, at every call: after the message, the whole file must fail
   */
  async #peek() {
    while (this.#at === this.#queue.length) {
      if (this.#failure) throw this.#failure
      if (this.#isDone) return null
      const { done, value } = await this.#next()
      this.#isDone = done === true
      this.#queue = done ? this.#splitter.end() : this.#splitter.push(value)
      this.#at = 0
    }
    return this.#queue[this.#at] ?? null
  }

  /** @returns {Promise<IteratorResult<Buffer>>} */
  async #next() {
    try {
      return await this.#chunks.next()
    } catch (error) {
      this.#failure = error
      throw error
    }
  }
}

/**
 * @param {Buffer} bytes - a message, or its beginning
 * @returns {Buffer} its header, as far as it is there
 */
export function headerOf(bytes) {
  const length = headerLength(bytes)
  return length === -1 ? bytes : bytes.subarray(0, length)
}

/**
 * @param {Buffer} bytes
 * @returns {number} -1 when the header does not end here
 */
function headerLength(bytes) {
  const ends = [bytes.indexOf('\n\n'), bytes.indexOf('\n\r\n')].filter((end) => end !== -1)
  return ends.length === 0 ? -1 : Math.min(...ends) + 1
}

/**
 * @param {number} byte
 * @returns {boolean}
 */
function isSpace(byte) {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}
