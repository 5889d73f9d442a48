/**
 * Which backup has an account that is no longer in the directory: from the night after its deletion on, the last one has not.
 */
import { isMailError } from '../errors.js'
import { findInSealedDirectory } from './sealed-directory.js'

/**
 * @typedef {import('./repository.js').Generation} Generation
 * @typedef {import('./sealed-directory.js').FoundAccount} FoundAccount
 */

/**
 * @param {object} input
 * @param {Pick<import('./repository.js').Repository, 'readGeneration'>} input.repository
 * @param {readonly string[]} input.names - of generations, the one to look into first at the beginning
 * @param {Omit<Parameters<typeof findInSealedDirectory>[0], 'generation'>} input.search
 * @returns {Promise<{ generation: Generation, found: FoundAccount } | null>} the first one that has it; null: none has
 * @throws {import('../errors.js').MailError} RECOVERY_KEY_REJECTED, BACKUP_DAMAGED where one could not be looked into and
 *   no other has it
 */
export async function findDeleted({ repository, names, search }) {
  /** @type {unknown} */
  let failure = null
  for (const name of names) {
    try {
      const generation = await repository.readGeneration(name)
      const found = await findInSealedDirectory({ ...search, generation })
      if (found && generation.accounts.some(({ id }) => id === found.account.id))
        return { generation, found }
    } catch (error) {
      // A backup from before a change of the recovery key opens only with the old key.
      if (!isMailError(error, 'RECOVERY_KEY_REJECTED') && !isMailError(error, 'BACKUP_DAMAGED'))
        throw error
      failure ??= error
    }
  }
  if (failure !== null) throw failure
  return null
}
