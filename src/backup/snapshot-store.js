/**
 * Snapshots in a target, by their pointers.
 */
import { MailError } from '../errors.js'
import { packObject } from './repository.js'
import { decodeSnapshot, encodeSnapshot } from './snapshot-format.js'
import { sha256 } from './staging.js'

/**
 * @typedef {import('./repository.js').SnapshotPointer} SnapshotPointer
 * @typedef {import('./snapshot-format.js').Snapshot} Snapshot
 */

/**
 * @param {import('./targets/target.js').BackupTarget} target
 * @param {SnapshotPointer} pointer
 * @returns {Promise<Snapshot>}
 * @throws {MailError} BACKUP_DAMAGED
 */
export async function readSnapshot(target, { pack, offset, size, sha256: expected }) {
  const bytes = await target.getRange(packObject(pack), offset, size)
  if (sha256(bytes).toString('hex') !== expected)
    throw new MailError('BACKUP_DAMAGED', {
      detail: `${packObject(pack)}: the snapshot at ${offset}`
    })
  return decodeSnapshot(bytes)
}

/**
 * @param {import('./pack-writer.js').PackWriter} packs
 * @param {Snapshot} snapshot
 * @param {SnapshotPointer | null} previous - kept where the snapshot is the same
 * @returns {Promise<SnapshotPointer>}
 */
export async function writeSnapshot(packs, snapshot, previous) {
  const bytes = encodeSnapshot(snapshot)
  const digest = sha256(bytes).toString('hex')
  if (previous?.sha256 === digest) return previous
  return { ...(await packs.add(bytes)), size: bytes.length, sha256: digest }
}
