/**
 * Sets backups up: the operator's recovery key, and the mark on the target.
 */
import { randomBytes } from 'node:crypto'
import { toMailError } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { readHostState, requireMadeHere, writeHostState } from './host-state.js'
import { requireOwnPlace } from './own-place.js'
import { withBackupLock } from './scratch.js'
import { makeRecoveryKey, requireRecipient } from './sealed.js'

/**
 * @typedef {object} InitInput
 * @property {string} data - the data folder
 * @property {import('./repository.js').Repository} repository
 * @property {import('../support/clock.js').Clock} clock
 * @property {string} [recipient] - `age1…` of a key that the operator has already; default: a new one, or that of the host's
 *   other target
 * @property {(recoveryKey: string) => Promise<void> | void} showKey - a new key is shown this once, before anything is sealed
 *   to it; if this fails, nothing is set up
 */

/**
 * @param {InitInput} input
 * @returns {Promise<{ recipient: string }>}
 * @throws {MailError} BACKUP_NOT_READY where the target holds another host's backups, or is no folder apart from the data;
 *   BACKUP_EXISTS; BACKUP_RUNNING; CONFIG_INVALID
 */
export function initBackups(input) {
  // Two at once would each show a key, and one of the keys would open nothing.
  return withBackupLock(input.data, () => initAlone(input))
}

/**
 * @param {InitInput} input
 * @returns {Promise<{ recipient: string }>}
 */
async function initAlone({ data, repository, clock, recipient, showKey }) {
  const state = await readHostState(data)
  const marker = await repository.readMarker()
  const { label } = repository.target
  if (marker && marker.repositoryId !== state?.repositoryId)
    throw new MailError('BACKUP_NOT_READY', {
      detail: `${label} holds the backups of another host`
    })
  if (marker) await requireMadeHere(data, repository)
  if (marker && recipient === undefined)
    throw new MailError('BACKUP_EXISTS', {
      detail: `in ${label}; for another recovery key: --recipient age1…`
    })
  if (!marker) await requireOwnPlace(data, repository.target)
  if (recipient !== undefined) await requireRecipient(recipient)

  // With a state from before, this is a second target of the same host, for the same recovery key.
  const made = recipient === undefined && !state ? await makeRecoveryKey() : null
  if (made) await showKey(made.recoveryKey)
  const next = {
    ...state,
    repositoryId: state?.repositoryId ?? randomBytes(16).toString('hex'),
    recipient: recipient ?? made?.recipient ?? state?.recipient ?? ''
  }
  await writeHostState(data, next)
  const createdAtMs = marker?.createdAtMs ?? clock.nowMs()
  await repository.writeMarker({ ...marker, ...next, createdAtMs }).catch((error) => {
    throw made ? keepingKey(error) : error
  })
  return { recipient: next.recipient }
}

/**
 * The target has failed after the key was shown. An operator who threw the key away would have backups that nobody can open:
 * the next try goes on with the same key, and shows none.
 *
 * @param {unknown} cause
 * @returns {unknown}
 */
function keepingKey(cause) {
  const error = toMailError(cause)
  if (!(error instanceof MailError)) return error
  const { code, message, detail = message } = error
  const words = `${detail}; keep the recovery key that was shown: give the command again, which goes on with it`
  return new MailError(code, { detail: words, cause: error })
}
