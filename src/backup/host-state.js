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
 * @typedef {object} HostState
 * @property {string} repositoryId
 * @property {string} recipient - `age1…`
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
 * @returns {Promise<string>} what tells this host from all others, the same as long as its data lasts: a container has another
 *   name each time that it is made; before `backup init`, its name
 */
export async function hostIdOf(data) {
  const state = await readHostState(data).catch(() => null)
  return state?.repositoryId ?? hostname()
}

/**
 * @param {string} data - the data folder
 * @param {HostState} state
 */
export async function writeHostState(data, { repositoryId, recipient }) {
  await writeFileDurably(stateFile(data), `${JSON.stringify({ repositoryId, recipient })}\n`)
}

/**
 * @param {string} data
 * @param {import('./repository.js').Repository} repository
 * @returns {Promise<HostState>}
 * @throws {MailError} BACKUP_NOT_READY where there has been no `backup init`, or for another target
 */
export async function requireHostState(data, repository) {
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
  return state
}
