/**
 * One mailbox at one moment, as a list of files and of the units that they are made of.
 *
 *     "letterlock/1 snapshot\n" │ header length 4 │ header, JSON │ units
 *     header  accountId, keyEpoch, cipher, files: [{ path, size }], packs: [name, …]
 *     unit    SHA-256 32 │ index into packs 4 │ offset within the pack 4         numbers big-endian
 *
 * The units stand in the order of the files; each has UNIT_BYTES bytes, the last of a file what is left.
 */
import { MailError } from '../errors.js'
import { HASH_BYTES } from './unit-table.js'

/**
 * What is compared and stored at a time, bytes. 100 new messages in a mailbox of 457 MB change 4 to 5 % of its 64 KiB
 * units, 11 to 17 % of 256 KiB (measured).
 */
export const UNIT_BYTES = 64 * 1024

const MAGIC = Buffer.from('letterlock/1 snapshot\n', 'latin1')
/** Of one unit in `units`. */
export const RECORD_BYTES = HASH_BYTES + 8

/**
 * @typedef {object} SnapshotFile
 * @property {string} path - within the account's folder, with '/'
 * @property {number} size - bytes
 *
 * @typedef {object} Unit
 * @property {Buffer} hash
 * @property {number} length - bytes
 * @property {string} pack - name
 * @property {number} offset - within the pack, bytes
 *
 * @typedef {object} Snapshot
 * @property {string} accountId
 * @property {number} keyEpoch - of the master key that `mail.db` is under
 * @property {string | null} cipher
 * @property {SnapshotFile[]} files
 * @property {string[]} packs
 * @property {Buffer} units - records
 */

/**
 * @param {number} size - of a file, bytes
 * @returns {number} units that it has
 */
export const unitCount = (size) => Math.ceil(size / UNIT_BYTES)

/**
 * @param {{ pack: string, offset: number }} place - of a unit, or of a snapshot
 * @returns {string} for maps
 */
export const placeKey = ({ pack, offset }) => `${pack} ${offset}`

/** Paths that a mailbox has: a snapshot that names another is not followed. */
const PATH = /^(mail\.db|mail\.db-wal|spool\/(aside\/)?[0-9a-f]{32}\.sealed)$/

/** Collects the units of a snapshot, in order. */
export class SnapshotBuilder {
  /** @type {SnapshotFile[]} */
  #files = []
  /** @type {Map<string, number>} */
  #packs = new Map()
  /** @type {Buffer[]} */
  #records = []

  /** @param {SnapshotFile} file - its units follow */
  startFile(file) {
    this.#files.push(file)
  }

  /**
   * @param {Buffer} hash
   * @param {{ pack: string, offset: number }} place
   */
  addUnit(hash, { pack, offset }) {
    let index = this.#packs.get(pack)
    if (index === undefined) this.#packs.set(pack, (index = this.#packs.size))
    const record = Buffer.allocUnsafe(RECORD_BYTES)
    hash.copy(record)
    record.writeUInt32BE(index, HASH_BYTES)
    record.writeUInt32BE(offset, HASH_BYTES + 4)
    this.#records.push(record)
  }

  /**
   * @param {{ accountId: string, keyEpoch: number, cipher: string | null }} facts
   * @returns {Snapshot} of what is there so far: the last file ends where its units do
   */
  finishPart(facts) {
    const whole = this.finish(facts)
    const last = whole.files.at(-1)
    if (!last) return whole
    const before = whole.files.slice(0, -1)
    const missing = before.reduce((sum, { size }) => sum + unitCount(size), 0)
    const size = Math.min(last.size, (this.#records.length - missing) * UNIT_BYTES)
    return { ...whole, files: [...before, { ...last, size }] }
  }

  /**
   * @param {{ accountId: string, keyEpoch: number, cipher: string | null }} facts
   * @returns {Snapshot}
   */
  finish(facts) {
    return {
      ...facts,
      files: this.#files,
      packs: [...this.#packs.keys()],
      units: Buffer.concat(this.#records)
    }
  }
}

/**
 * @param {Snapshot} snapshot
 * @returns {Buffer}
 */
export function encodeSnapshot({ accountId, keyEpoch, cipher, files, packs, units }) {
  const header = Buffer.from(JSON.stringify({ accountId, keyEpoch, cipher, files, packs }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(header.length)
  return Buffer.concat([MAGIC, length, header, units])
}

/** @param {string} detail */
const damaged = (detail) => new MailError('BACKUP_DAMAGED', { detail: `snapshot: ${detail}` })

/**
 * @param {Buffer} bytes
 * @returns {Snapshot}
 * @throws {MailError} BACKUP_DAMAGED
 */
export function decodeSnapshot(bytes) {
  const start = MAGIC.length + 4
  if (bytes.length < start || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw damaged('not one')
  const end = start + bytes.readUInt32BE(MAGIC.length)
  let header
  try {
    header = JSON.parse(bytes.toString('utf8', start, end))
  } catch (cause) {
    throw new MailError('BACKUP_DAMAGED', { detail: 'snapshot: its header', cause })
  }
  const { accountId, keyEpoch, cipher, files, packs } = header
  const units = bytes.subarray(end)
  const isWhole =
    Array.isArray(files) &&
    Array.isArray(packs) &&
    files.every(({ path, size }) => PATH.test(path) && Number.isSafeInteger(size) && size >= 0) &&
    units.length === files.reduce((sum, { size }) => sum + unitCount(size), 0) * RECORD_BYTES
  if (!isWhole) throw damaged('its files')
  return { accountId, keyEpoch, cipher, files, packs, units }
}

/**
 * @param {Snapshot} snapshot
 * @param {(file: SnapshotFile) => boolean} [wants] - default: all files
 * @yields {Unit & { file: SnapshotFile, isLast: boolean }} each unit, in the order of the files; none for an empty file
 * @throws {MailError} BACKUP_DAMAGED
 */
export function* unitsOf({ files, packs, units }, wants = () => true) {
  let at = 0
  for (const file of files) {
    const count = unitCount(file.size)
    if (!wants(file)) at += count * RECORD_BYTES
    else
      for (let number = 0; number < count; number++, at += RECORD_BYTES) {
        const pack = packs[units.readUInt32BE(at + HASH_BYTES)]
        if (pack === undefined) throw damaged('a unit names no pack')
        const isLast = number === count - 1
        yield {
          file,
          isLast,
          hash: units.subarray(at, at + HASH_BYTES),
          length: isLast ? file.size - number * UNIT_BYTES : UNIT_BYTES,
          pack,
          offset: units.readUInt32BE(at + HASH_BYTES + 4)
        }
      }
  }
}
