/**
 * Which generation, and which account of it.
 */
import { MailError } from '../errors.js'
import { inOrder } from './generation-order.js'
import { generationTimeMs } from './repository.js'

/**
 * @typedef {import('./repository.js').Repository} Repository
 * @typedef {import('./repository.js').Generation} Generation
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 */

/**
 * @param {Repository} repository - without a generation: what was looked for may lie elsewhere
 * @returns {MailError} BACKUP_MISSING
 */
export const noneYet = ({ target }) =>
  new MailError('BACKUP_MISSING', { detail: `there is none yet in ${target.label}` })

/**
 * @param {Repository} repository
 * @param {{ nowMs: number, name?: string | undefined, atMs?: number | undefined }} wanted - a name, or the last one that
 *   had begun by then; neither: the last one
 * @returns {Promise<Generation>}
 * @throws {MailError} BACKUP_MISSING
 */
export async function chooseGeneration(repository, { nowMs, name, atMs }) {
  if (name !== undefined) return await repository.readGeneration(name)
  const names = await repository.listGenerations()
  if (names.length === 0) throw noneYet(repository)
  const chosen =
    atMs === undefined
      ? inOrder(names, nowMs).at(-1)
      : names.filter((one) => generationTimeMs(one) <= atMs).at(-1)
  if (chosen === undefined)
    throw new MailError('BACKUP_MISSING', { detail: `the oldest is ${names[0]}` })
  return await repository.readGeneration(chosen)
}

/**
 * @param {Generation} generation
 * @param {string} accountId
 * @returns {AccountEntry}
 * @throws {MailError} BACKUP_MISSING
 */
export function requireEntry(generation, accountId) {
  const entry = generation.accounts.find(({ id }) => id === accountId)
  if (!entry)
    throw new MailError('BACKUP_MISSING', {
      detail: `the account is not in ${generation.name}; one that had its address then comes back with --as`
    })
  return entry
}
