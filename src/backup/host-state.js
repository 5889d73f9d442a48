/**
 * What a host remembers of its backups, apart from the target: to whom the keys are sealed. Whoever can write to the
 * target alone could otherwise put a recipient of their own there, and be sent the pepper at the next run.
 */
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { errorCodeOf } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { writeFileDurably } from '../support/write-file.js'

/**
 * @typedef {import('./repository.js').RepositoryMarker} RepositoryMarker
 *
 * @typedef {object} HostState
 * @property {string} repositoryId
 * @property {string} recipient - `age1…`
 * @property {string} [hostId] - of a host that was restored, or has taken backups over: see `makesBackups`
 */

/** @param {string} data */
const stateFile = (data) => join(data, 'backup.json')

/**
 * @param {string} data - the data folder
 * @returns {Promise<HostState | null>} null where `backup init` has not been done
 * @throws {MailError} CONFIG_INVALID where the file cannot be read
 */
export async function readHostState(data) {
  try {
    return JSON.parse(await readFile(stateFile(data), 'utf8'))
  } catch (cause) {
    if (errorCodeOf(cause) === 'ENOENT') return null
    throw new MailError('CONFIG_INVALID', { detail: `${stateFile(data)} cannot be read`, cause })
  }
}

/**
 * @param {string} data - the data folder
 * @returns {Promise<string>} what tells this host from all others for as long as its data lasts, unlike the name of a container,
 *   which changes each time that it is made; before `backup init`, the host's name
 */
export async function hostIdOf(data) {
  const state = await readHostState(data).catch(() => null)
  return state?.repositoryId ?? hostname()
}

/**
 * @param {string} data - the data folder
 * @param {HostState} state
 */
export async function writeHostState(data, state) {
  await writeFileDurably(stateFile(data), `${JSON.stringify(state)}\n`)
}

/**
 * @param {string} data
 * @param {import('./repository.js').Repository} repository
 * @returns {Promise<{ state: HostState, marker: RepositoryMarker }>}
 * @throws {MailError} BACKUP_NOT_READY where there has been no `backup init`, or for another target
 */
export async function requireTarget(data, repository) {
  const state = await readHostState(data)
  if (!state) throw new MailError('BACKUP_NOT_READY', { detail: 'first: letterlock backup init' })
  const marker = await repository.readMarker()
  const { label } = repository.target
  if (!marker)
    throw new MailError('BACKUP_NOT_READY', {
      detail: `${label} holds no backups of this host: mount their disk, or for a new place: letterlock backup init`
    })
  if (marker.repositoryId !== state.repositoryId)
    throw new MailError('BACKUP_NOT_READY', {
      detail: `${label} holds the backups of another host`
    })
  return { state, marker }
}

/**
 * A host that was restored has an id of its own; that of the first host is the repository's.
 *
 * @param {HostState} state
 * @param {RepositoryMarker} marker
 * @returns {boolean} whether this host is the one that makes these backups
 */
export const makesBackups = (state, marker) =>
  (state.hostId ?? state.repositoryId) === (marker.hostId ?? marker.repositoryId)

/**
 * @param {{ state: HostState, marker: RepositoryMarker }} both
 * @param {string} label - of the target
 * @returns {string | null} why backups are not made here, for the operator; null: they are
 */
function reasonOf({ state, marker }, label) {
  if (makesBackups(state, marker)) return null
  return state.hostId === undefined
    ? `another host, which was restored from them, has taken over the backups in ${label}: this one must not run any more, or needs another place for its own`
    : `the backups in ${label} belong to another host, which this one was restored from, or which has taken them over since: if that is gone for good, letterlock backup take-over; otherwise another place, and letterlock backup init`
}

/**
 * @param {string} data
 * @param {import('./repository.js').Repository} repository
 * @returns {Promise<string | null>} why backups are not made here, for the operator; null: they are
 * @throws {MailError} as `requireTarget`
 */
export async function whyNotMade(data, repository) {
  return reasonOf(await requireTarget(data, repository), repository.target.label)
}

/**
 * Two hosts that each prune what the other has just stored leave backups without packs: a host that was restored only to see
 * whether that works must not begin.
 *
 * @param {string} data
 * @param {import('./repository.js').Repository} repository
 * @returns {Promise<HostState>} of the host that makes these backups
 * @throws {MailError} BACKUP_NOT_READY, also where another host makes them
 */
export async function requireMadeHere(data, repository) {
  const both = await requireTarget(data, repository)
  const detail = reasonOf(both, repository.target.label)
  if (detail !== null) throw new MailError('BACKUP_NOT_READY', { detail })
  return both.state
}
