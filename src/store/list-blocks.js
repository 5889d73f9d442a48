/**
 * What lists are made of, packed: 32 contents that follow each other share one compressed row of each kind, because what
 * costs time in a list is decrypting pages, and neighbours' headers resemble each other (measured on everyday mail: a
 * quarter of the bytes, less than 1 us a message to decompress).
 *
 *     envelope_blocks, …   id = content id / 32
 *     decompressed         32 times: length of the entry + 1, or 0 for none (4 bytes, lowest first); then the entries
 *
 * A block that is missing, damaged or made by older code is no loss: what was in it is made again from the content.
 */
import { APART_KINDS } from '../mime/listed-fields.js'
import { BUILDER_VERSION } from '../mime/message-meta.js'
import { prepared } from '../database/statement.js'
import { releaseBuffer } from '../support/release-buffer.js'
import { compressFrame, decompressFrame, decompressInto } from './zstd.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {'envelope' | 'bodyStructure' | 'partTree' | 'fields' |
 *   import('../mime/listed-fields.js').ApartKind} BlockKind
 */

/** Contents of one block. The migrations know it too. */
export const BLOCK_CONTENTS = 32

/** Longer entries stay in rows of their own, so that a block stays small in memory, bytes. */
export const MAX_ENTRY_BYTES = 8192

const LENGTH_BYTES = 4
const HEAD_BYTES = BLOCK_CONTENTS * LENGTH_BYTES
const MAX_BLOCK_BYTES = HEAD_BYTES + BLOCK_CONTENTS * MAX_ENTRY_BYTES

/** A page of a list of usual mail. */
const MIN_ARENA_BYTES = 512 * 1024

/** @type {Readonly<Record<BlockKind, string>>} */
const TABLES = {
  envelope: 'envelope_blocks',
  bodyStructure: 'body_structure_blocks',
  partTree: 'part_tree_blocks',
  fields: 'field_blocks',
  received: 'received_blocks',
  signatures: 'signature_blocks',
  rest: 'rest_blocks'
}

/** @type {readonly BlockKind[]} */
export const BLOCK_KINDS = ['envelope', 'bodyStructure', 'partTree', 'fields', ...APART_KINDS]

/**
 * @param {number} contentId
 * @returns {number} the block that it belongs to
 */
export const blockOf = (contentId) => Math.floor(contentId / BLOCK_CONTENTS)

/**
 * @param {number} contentId
 * @returns {number} its place within its block
 */
export const placeOf = (contentId) => contentId % BLOCK_CONTENTS

/**
 * Room for the blocks of one read, taken again by the next: allocating tens of KB for each block costs as much as
 * decompressing it.
 */
export class BlockArena {
  #bytes = Buffer.alloc(0)
  #used = 0

  /** What was in it may be overwritten. */
  reset() {
    this.#used = 0
  }

  /**
   * @param {Buffer} frame - zstd
   * @param {number} size - of its content, bytes
   * @returns {Buffer | null} its content, until the next `reset`; null: it is no whole frame of that size
   */
  unpack(frame, size) {
    const end = this.#used + size
    // What was given before stays where it is: only the rest of this read goes into the new one.
    if (end + 1 > this.#bytes.length) {
      this.#bytes = Buffer.allocUnsafeSlow(Math.max(MIN_ARENA_BYTES, 2 * (size + 1)))
      this.#used = 0
      return this.unpack(frame, size)
    }
    if (!decompressInto(frame, this.#bytes, this.#used, size)) return null
    const content = this.#bytes.subarray(this.#used, end)
    this.#used = end
    return content
  }
}

/** A block, decompressed. */
export class Block {
  /** Where each entry begins, and after them where the last one ends. */
  #starts = new Uint32Array(BLOCK_CONTENTS + 1)
  #isThere = new Uint8Array(BLOCK_CONTENTS)

  /**
   * @param {Buffer} bytes - as described above
   * @throws {RangeError} when the lengths are not those of the bytes
   */
  constructor(bytes) {
    this.bytes = bytes
    let at = HEAD_BYTES
    for (let place = 0; place < BLOCK_CONTENTS; place++) {
      const length = bytes.readUInt32LE(place * LENGTH_BYTES)
      this.#starts[place] = at
      if (length > 0) {
        this.#isThere[place] = 1
        at += length - 1
      }
    }
    this.#starts[BLOCK_CONTENTS] = at
    if (at !== bytes.length) throw new RangeError('lengths do not add up')
  }

  /**
   * @param {number} place
   * @returns {boolean}
   */
  has(place) {
    return this.#isThere[place] === 1
  }

  /**
   * @param {number} place
   * @returns {number} where in `bytes` the entry begins
   */
  startOf(place) {
    return /** @type {number} */ (this.#starts[place])
  }

  /**
   * @param {number} place
   * @returns {number} where in `bytes` it ends
   */
  endOf(place) {
    return /** @type {number} */ (this.#starts[place + 1])
  }

  /**
   * @param {number} place
   * @returns {Buffer | null} a piece of `bytes`
   */
  entry(place) {
    return this.has(place) ? this.bytes.subarray(this.startOf(place), this.endOf(place)) : null
  }
}

/**
 * @param {Database} db
 * @param {BlockKind} kind
 * @param {number} number - of blockOf
 * @param {object} [options]
 * @param {boolean} [options.ofAnyVersion] - also what older code has made
 * @param {BlockArena | null} [options.arena] - where the block is to lie; null: in memory of its own
 * @returns {Block | null} null: there is none, or none that is of use
 */
export function readBlock(db, kind, number, { ofAnyVersion = false, arena = null } = {}) {
  const row = /** @type {[number, number, Buffer] | undefined} */ (
    prepared(
      db,
      `SELECT builder_version, size, data FROM ${TABLES[kind]} WHERE id = ?`,
      'array'
    ).get(number)
  )
  if (row === undefined) return null
  const [builderVersion, size, data] = row
  if (builderVersion < BUILDER_VERSION && !ofAnyVersion) return null
  if (size < HEAD_BYTES || size > MAX_BLOCK_BYTES) return null
  try {
    const bytes = arena ? arena.unpack(data, size) : decompressFrame(data, { maxBytes: size })
    return bytes && new Block(bytes)
  } catch {
    return null
  } finally {
    releaseBuffer(data)
  }
}

/**
 * @param {Database} db
 * @param {BlockKind} kind
 * @param {number} number
 * @param {readonly (Buffer | null)[]} entries - by place, up to MAX_ENTRY_BYTES each; without any the block goes
 * @param {number} [builderVersion] - of the code that made them
 */
export function writeBlock(db, kind, number, entries, builderVersion = BUILDER_VERSION) {
  const table = TABLES[kind]
  if (entries.every((entry) => entry === null)) {
    prepared(db, `DELETE FROM ${table} WHERE id = ?`).run(number)
    return
  }
  const head = Buffer.alloc(HEAD_BYTES)
  /** @type {Buffer[]} */
  const pieces = [head]
  for (const [place, entry] of entries.entries()) {
    if (entry === null) continue
    head.writeUInt32LE(entry.length + 1, place * LENGTH_BYTES)
    pieces.push(entry)
  }
  const raw = Buffer.concat(pieces)
  const data = compressFrame(raw)
  prepared(
    db,
    `INSERT OR REPLACE INTO ${table} (id, builder_version, size, data) VALUES (?, ?, ?, ?)`
  ).run(number, builderVersion, raw.length, data)
  releaseBuffer(data)
}

/**
 * Takes deleted contents out of their blocks: nothing of a deleted message stays in the file.
 *
 * @param {Database} db - inside the transaction that deletes them
 * @param {readonly number[]} contentIds
 */
export function dropFromBlocks(db, contentIds) {
  /** @type {Map<number, Set<number>>} */
  const places = new Map()
  for (const contentId of contentIds) {
    const number = blockOf(contentId)
    const known = places.get(number)
    if (known) known.add(placeOf(contentId))
    else places.set(number, new Set([placeOf(contentId)]))
  }
  for (const [number, gone] of places) {
    for (const kind of BLOCK_KINDS) dropPlaces(db, kind, number, gone)
  }
}

/**
 * @param {Database} db
 * @param {BlockKind} kind
 * @param {number} number
 * @param {ReadonlySet<number>} gone
 */
function dropPlaces(db, kind, number, gone) {
  const version = /** @type {number | undefined} */ (
    prepared(db, `SELECT builder_version FROM ${TABLES[kind]} WHERE id = ?`, 'value').get(number)
  )
  if (version === undefined) return
  const block = readBlock(db, kind, number, { ofAnyVersion: true })
  // One that cannot be read goes as a whole: the rest is made again.
  const entries = Array.from({ length: BLOCK_CONTENTS }, (_, place) =>
    block === null || gone.has(place) ? null : block.entry(place)
  )
  writeBlock(db, kind, number, entries, version)
}
