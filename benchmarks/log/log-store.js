/**
 * The log stores that are compared: a row for each record, compressed by itself or not, or a row for each block of
 * records that are compressed together. Each asks SQLite as suits it best: many records at a time, in the order of
 * the file.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { Connection } from '../sqlite/connection.js'

/**
 * @typedef {import('../sqlite/configurations.js').Settings} Settings
 * @typedef {'none' | 'each' | 'block'} Compression
 */

/** Records in a block. */
const BLOCK_RECORDS = 64

const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** @param {Buffer} raw */
const pack = (raw) => zstdCompressSync(raw, LEVEL)

/** @param {unknown} packed */
const unpack = (packed) => zstdDecompressSync(/** @type {Buffer} */ (packed))

/**
 * @param {readonly Buffer[]} records
 * @returns {Buffer} each with its length before it, 2 bytes
 */
function joinRecords(records) {
  const lengths = records.map(({ length }) => {
    const prefix = Buffer.alloc(2)
    prefix.writeUInt16LE(length)
    return prefix
  })
  return Buffer.concat(
    records.flatMap((record, index) => [/** @type {Buffer} */ (lengths[index]), record])
  )
}

/**
 * @param {Buffer} block
 * @returns {Buffer[]}
 */
function splitRecords(block) {
  const records = []
  for (let at = 0; at < block.length;) {
    const end = at + 2 + block.readUInt16LE(at)
    records.push(block.subarray(at + 2, end))
    at = end
  }
  return records
}

/** One log in one file. */
export class LogStore {
  #connection
  #compression
  #count
  #insert
  #read
  #range

  /**
   * @param {string} path
   * @param {Settings} settings
   * @param {Compression} compression
   * @param {{ isNew: boolean, count: number }} state - `count`: records that are in
   */
  constructor(path, settings, compression, { isNew, count }) {
    this.#connection = new Connection(path, settings, { isNew })
    this.#compression = compression
    this.#count = count
    const { db } = this.#connection
    if (isNew) db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, data BLOB NOT NULL)')
    this.#connection.makeDurable()
    this.#insert = db.prepare('INSERT OR REPLACE INTO log (id, data) VALUES (?, ?)')
    this.#read = db.prepare('SELECT data FROM log WHERE id = ?').pluck()
    this.#range = db.prepare('SELECT id, data FROM log WHERE id BETWEEN ? AND ? ORDER BY id').raw()
  }

  /** @returns {number} records */
  get count() {
    return this.#count
  }

  /**
   * @param {readonly Buffer[]} records - on the disk when it resolves
   */
  async append(records) {
    const { db } = this.#connection
    db.exec('BEGIN IMMEDIATE')
    if (this.#compression === 'block') this.#appendBlocks(records)
    else {
      records.forEach((record, index) =>
        this.#insert.run(this.#count + index, this.#compression === 'each' ? pack(record) : record)
      )
    }
    db.exec('COMMIT')
    this.#count += records.length
    await this.#connection.durable()
    this.#connection.noteCommits()
  }

  /** @param {readonly Buffer[]} records */
  #appendBlocks(records) {
    const tail = this.#count % BLOCK_RECORDS
    let block = Math.floor(this.#count / BLOCK_RECORDS)
    const pending = [...(tail === 0 ? [] : splitRecords(unpack(this.#read.get(block)))), ...records]
    for (let at = 0; at < pending.length; at += BLOCK_RECORDS) {
      this.#insert.run(block++, pack(joinRecords(pending.slice(at, at + BLOCK_RECORDS))))
    }
  }

  /**
   * @param {readonly number[]} ids - in any order
   * @returns {Map<number, Buffer>}
   */
  readMany(ids) {
    const sorted = Float64Array.from(ids).sort()
    /** @type {Map<number, Buffer>} */
    const found = new Map()
    let open = -1
    /** @type {Buffer[]} */
    let records = []
    const { db } = this.#connection
    db.exec('BEGIN')
    for (const id of sorted) {
      if (this.#compression !== 'block') {
        found.set(id, this.#decode(this.#read.get(id)))
        continue
      }
      const block = Math.floor(id / BLOCK_RECORDS)
      if (block !== open) records = splitRecords(unpack(this.#read.get(block)))
      open = block
      found.set(id, /** @type {Buffer} */ (records[id % BLOCK_RECORDS]))
    }
    db.exec('COMMIT')
    return found
  }

  /**
   * @param {number} first
   * @param {number} count
   * @yields {Buffer}
   * @returns {Generator<Buffer, void, undefined>} in order
   */
  *iterate(first, count) {
    const last = first + count - 1
    if (this.#compression !== 'block') {
      for (const row of this.#range.iterate(first, last)) {
        yield this.#decode(/** @type {unknown[]} */ (row)[1])
      }
      return
    }
    const blocks = [first, last].map((id) => Math.floor(id / BLOCK_RECORDS))
    for (const row of this.#range.iterate(...blocks)) {
      const [block, data] = /** @type {[number, Buffer]} */ (row)
      const start = block * BLOCK_RECORDS
      yield* splitRecords(unpack(data)).slice(Math.max(0, first - start), last - start + 1)
    }
  }

  /** @param {unknown} data */
  #decode(data) {
    return this.#compression === 'each' ? unpack(data) : /** @type {Buffer} */ (data)
  }

  /** Moves everything into the file and closes it. */
  async close() {
    await this.#connection.settle()
    this.#connection.db.pragma('wal_checkpoint(TRUNCATE)')
    await this.#connection.close()
  }
}
