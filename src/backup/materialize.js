/**
 * From a snapshot to files: every unit's hash is checked as it is written.
 */
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MAIL_FILE } from '../database/database-files.js'
import { toMailError } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { writeAll } from '../support/write-all.js'
import { makeFolderDurably, syncFolder } from '../support/write-file.js'
import { packObject } from './repository.js'
import { UNIT_BYTES, unitsOf } from './snapshot-format.js'
import { sha256 } from './staging.js'

/**
 * @typedef {import('./snapshot-format.js').Snapshot} Snapshot
 * @typedef {import('./snapshot-format.js').SnapshotFile} SnapshotFile
 * @typedef {import('./snapshot-format.js').Unit & { file: SnapshotFile, isLast: boolean }} FileUnit
 */

/** At most so many bytes are read from a pack in one request, where units lie one after the other. */
const RANGE_BYTES = 4 * 1024 * 1024

/**
 * Units that lie one after the other in a pack, as they do where a mailbox was stored at once.
 *
 * @param {Iterable<FileUnit>} units
 * @yields {FileUnit[]}
 */
function* runsOf(units) {
  /** @type {FileUnit[]} */
  let run = []
  let bytes = 0
  for (const unit of units) {
    const last = run.at(-1)
    const follows = last && last.pack === unit.pack && last.offset + last.length === unit.offset
    if (last && (!follows || bytes + unit.length > RANGE_BYTES)) {
      yield run
      run = []
      bytes = 0
    }
    run.push(unit)
    bytes += unit.length
  }
  if (run.length > 0) yield run
}

/**
 * Reads units of a snapshot, each checked against its hash.
 *
 * @param {import('./targets/target.js').BackupTarget} target
 * @param {Iterable<FileUnit>} units
 * @param {(bytes: number) => void} [onRead]
 * @yields {{ unit: FileUnit, bytes: Buffer }}
 * @throws {MailError} BACKUP_DAMAGED
 */
export async function* readUnits(target, units, onRead = () => {}) {
  for (const run of runsOf(units)) {
    const [first] = run
    const length = run.reduce((sum, unit) => sum + unit.length, 0)
    if (!first) continue
    const bytes = await target.getRange(packObject(first.pack), first.offset, length)
    onRead(length)
    for (const unit of run) {
      const from = unit.offset - first.offset
      const piece = bytes.subarray(from, from + unit.length)
      if (!sha256(piece).equals(unit.hash))
        throw new MailError('BACKUP_DAMAGED', {
          detail: `${packObject(unit.pack)} at ${unit.offset}: another hash`
        })
      yield { unit, bytes: piece }
    }
  }
}

/** What `requireMailboxHeader` looks at. */
export const MAILBOX_HEADER_BYTES = 24

/**
 * @param {Buffer} header - the first bytes of `mail.db`
 * @param {number} size - of the file, bytes
 * @throws {MailError} BACKUP_DAMAGED where that is no mailbox
 */
export function requireMailboxHeader(header, size) {
  // The cipher leaves bytes 16 to 23 as SQLite writes them (https://sqlite.org/fileformat2.html#the_database_header):
  // page size, WAL twice, reserved bytes, and three fixed payload fractions.
  const pageBytes = header.length >= MAILBOX_HEADER_BYTES ? header.readUInt16BE(16) : 0
  const isSane =
    pageBytes >= 512 &&
    (pageBytes & (pageBytes - 1)) === 0 &&
    size % pageBytes === 0 &&
    header.subarray(18, 20).equals(Buffer.of(2, 2)) &&
    header.subarray(21, 24).equals(Buffer.of(64, 32, 32))
  if (!isSane) throw new MailError('BACKUP_DAMAGED', { detail: 'mail.db has no sane header' })
}

/**
 * Writes the files of a snapshot, durable when it resolves.
 *
 * @param {object} input
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {Snapshot} input.snapshot
 * @param {string} input.folder - made here; what a killed run left in it is written over
 * @param {(file: SnapshotFile) => boolean} [input.wants] - default: all files
 * @param {(bytes: number) => void} [input.onRead]
 * @returns {Promise<void>}
 * @throws {MailError} BACKUP_DAMAGED, BACKUP_UNREACHABLE, DISK_FULL
 */
export async function materialize({ target, snapshot, folder, wants = () => true, onRead }) {
  try {
    await makeFolderDurably(folder)
    const units = readUnits(target, unitsOf(snapshot, wants), onRead)
    for (const made of await writeUnits(units, folder)) await syncFolder(made)
    await syncFolder(dirname(folder))
  } catch (error) {
    throw toMailError(error)
  }
  if (!snapshot.files.some(({ path, size }) => path === MAIL_FILE && size > 0))
    throw new MailError('BACKUP_DAMAGED', { detail: 'a snapshot without mail.db' })
}

/**
 * @param {ReturnType<typeof readUnits>} units - one file after the other
 * @param {string} folder - the one that their paths are relative to
 * @returns {Promise<Set<string>>} `folder`, and the folders in it that have files now; the files are on the disk
 */
async function writeUnits(units, folder) {
  const folders = new Set([folder])
  /** @type {import('node:fs/promises').FileHandle | null} */
  let handle = null
  /** @type {SnapshotFile | null} */
  let file = null
  let number = 0
  try {
    for await (const { unit, bytes } of units) {
      if (unit.file !== file) {
        await handle?.close()
        file = unit.file
        number = 0
        const path = join(folder, file.path)
        await makeFolderDurably(dirname(path))
        folders.add(dirname(path))
        handle = await open(path, 'w', 0o600)
      }
      if (handle) await writeAll(handle, bytes, number * UNIT_BYTES)
      if (number === 0 && file.path === MAIL_FILE) requireMailboxHeader(bytes, file.size)
      number += 1
      if (unit.isLast) await handle?.sync()
    }
  } finally {
    await handle?.close()
  }
  return folders
}
