/**
 * What has been read of a mailbox and not yet been accepted: the hashes of all its units, and, in a scratch file, the
 * bytes of those that are not stored yet. Reading is as fast as the disk, so that a mailbox is frozen for a moment only;
 * packing and sending come afterwards, and nothing of a copy that is discarded ever reaches the target.
 */
import { hash as hashOnce } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { errorCodeOf, toMailError } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { requireRoom } from '../support/room.js'
import { writeAll } from '../support/write-all.js'
import { UNIT_BYTES, unitCount } from './snapshot-format.js'
import { HASH_BYTES } from './unit-table.js'

/** Units that are read at a time. */
const READ_UNITS = 16

/**
 * @typedef {object} StagedFile
 * @property {string} path - within the account's folder
 * @property {number} size - bytes
 * @property {Buffer} hashes - of its units
 * @property {Uint8Array} isStaged - 1 for each unit whose bytes are in the scratch file
 */

/**
 * @param {Buffer} bytes
 * @returns {Buffer} SHA-256
 */
export const sha256 = (bytes) => /** @type {Buffer} */ (hashOnce('sha256', bytes, 'buffer'))

/** One scratch file, used for one account after the other. */
export class Staging {
  #path
  #handle
  #limit
  #buffer = Buffer.allocUnsafeSlow(READ_UNITS * UNIT_BYTES)
  #position = 0

  /**
   * @param {object} parts
   * @param {string} parts.path
   * @param {import('node:fs/promises').FileHandle} parts.handle
   * @param {import('./rate-limit.js').RateLimit} parts.limit - of reading
   */
  constructor({ path, handle, limit }) {
    this.#path = path
    this.#handle = handle
    this.#limit = limit
  }

  /**
   * @param {string} path - of the scratch file, made here
   * @param {import('./rate-limit.js').RateLimit} limit
   * @returns {Promise<Staging>}
   */
  static async open(path, limit) {
    return new Staging({ path, limit, handle: await open(path, 'wx+', 0o600) })
  }

  /** @returns {number} where the next staged unit goes: what `rewind` takes */
  get position() {
    return this.#position
  }

  /**
   * Forgets what was staged from there on.
   *
   * @param {number} [position] - default: everything
   */
  async rewind(position = 0) {
    await this.#handle.truncate(position)
    this.#position = position
  }

  /**
   * Reads a file to its end.
   *
   * @param {object} input
   * @param {string} input.source - absolute; never open in this process through SQLite
   * @param {string} input.path - within the account's folder
   * @param {number} input.size - bytes that it must have
   * @param {import('./known-units.js').KnownUnits} input.known
   * @param {(bytes: number) => void} input.onRead
   * @returns {Promise<StagedFile>}
   * @throws {MailError} BUSY where the file is shorter: it was changed; SCRATCH_FULL
   */
  async stage({ source, path, size, known, onRead }) {
    const hashes = Buffer.alloc(unitCount(size) * HASH_BYTES)
    const isStaged = new Uint8Array(unitCount(size))
    const handle = await open(source, 'r')
    try {
      for (let at = 0, number = 0; at < size;) {
        const wanted = Math.min(this.#buffer.length, size - at)
        await this.#limit.take(wanted)
        const read = await readFully(handle, this.#buffer.subarray(0, wanted), at)
        if (read < wanted) throw new MailError('BUSY', { detail: `${path} became shorter` })
        const position = this.#position
        for (let from = 0; from < wanted; from += UNIT_BYTES, number++) {
          const unit = this.#buffer.subarray(from, Math.min(from + UNIT_BYTES, wanted))
          const hash = sha256(unit)
          hash.copy(hashes, number * HASH_BYTES)
          if (known.find(hash, unit.length)) continue
          if (this.#position === position) await requireRoom(this.#path, wanted)
          await this.#write(unit)
          isStaged[number] = 1
        }
        at += wanted
        onRead(wanted)
      }
    } finally {
      await handle.close()
    }
    return { path, size, hashes, isStaged }
  }

  /** @param {Buffer} unit */
  async #write(unit) {
    try {
      await writeAll(this.#handle, unit, this.#position)
    } catch (error) {
      const isFull = errorCodeOf(toMailError(error)) === 'DISK_FULL'
      throw isFull ? new MailError('SCRATCH_FULL', { cause: error }) : error
    }
    this.#position += unit.length
  }

  /**
   * @param {StagedFile[]} files - all that was staged since the last rewind, in order
   * @yields {{ file: StagedFile, number: number, hash: Buffer, length: number, bytes: Buffer | null }} each unit;
   *   `bytes` of the staged ones, valid until the next
   * @throws {Error} where the scratch file was cut by somebody else
   */
  async *units(files) {
    let position = 0
    for (const file of files) {
      for (let number = 0; number < file.isStaged.length; number++) {
        const length = Math.min(UNIT_BYTES, file.size - number * UNIT_BYTES)
        const hash = file.hashes.subarray(number * HASH_BYTES, (number + 1) * HASH_BYTES)
        let bytes = null
        if (file.isStaged[number] === 1) {
          bytes = this.#buffer.subarray(0, length)
          const read = await readFully(this.#handle, bytes, position)
          // Or the end of the unit before would be stored under this one's hash.
          if (read < length) throw new Error(`${this.#path} became shorter`)
          position += length
        }
        yield { file, number, hash, length, bytes }
      }
    }
  }

  /** Removes the scratch file. */
  async close() {
    await this.#handle.close()
    await rm(this.#path, { force: true })
  }
}

/**
 * @param {import('node:fs/promises').FileHandle} handle
 * @param {Buffer} buffer - filled
 * @param {number} position
 * @returns {Promise<number>} bytes; fewer only at the end of the file
 */
async function readFully(handle, buffer, position) {
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(
      buffer,
      filled,
      buffer.length - filled,
      position + filled
    )
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return filled
}
