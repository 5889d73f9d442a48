/**
 * The backups of a host that is gone for good become those of the host that was restored from them.
 */
import { randomBytes } from 'node:crypto'
import { makesBackups, requireTarget, writeHostState } from './host-state.js'
import { withBackupLock } from './scratch.js'

/**
 * @param {object} input
 * @param {string} input.data - the data folder
 * @param {import('./repository.js').Repository} input.repository
 * @returns {Promise<boolean>} false where this host makes them already
 * @throws {import('../errors.js').MailError} BACKUP_NOT_READY where they are not those that this host was restored from;
 *   BACKUP_RUNNING
 */
export function takeOverBackups({ data, repository }) {
  return withBackupLock(data, async () => {
    const { state, marker } = await requireTarget(data, repository)
    if (makesBackups(state, marker)) return false
    // One id for all places of this host's backups. Where the marker cannot be written, nothing has changed.
    const hostId = state.hostId ?? randomBytes(16).toString('hex')
    await repository.writeMarker({ ...marker, hostId })
    if (state.hostId === undefined) await writeHostState(data, { ...state, hostId })
    return true
  })
}
