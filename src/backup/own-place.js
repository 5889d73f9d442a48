/**
 * Backups lie apart from what they are of.
 */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { errorCodeOf } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'

/** The only folder in the data folder that nothing else uses: a restore of the host onto the data folder leaves it there. */
const DEFAULT_NAME = 'backup'

/**
 * @param {string} path - absolute
 * @returns {Promise<string>} without symbolic links, as far as it is there
 */
async function realPathOf(path) {
  try {
    return await realpath(path)
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT') throw error
    return join(await realPathOf(dirname(path)), basename(path))
  }
}

/**
 * @param {string} path
 * @param {string} folder
 * @returns {boolean}
 */
const isWithin = (path, folder) => path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/**
 * What happens to the data folder happens to backups in it; and in its `tmp` the next run would take them for what a killed
 * one left. Where the data folder lies in the target, a prune could remove it: one called `packs` is needed by no backup.
 *
 * @param {string} data - the data folder
 * @param {import('./targets/target.js').BackupTarget} target - without backups so far
 * @throws {MailError} BACKUP_NOT_READY
 */
export async function requireOwnPlace(data, { folder }) {
  if (folder === undefined) return
  const [host, place] = await Promise.all([realPathOf(data), realPathOf(folder)])
  const refuse = (/** @type {string} */ why) => {
    throw new MailError('BACKUP_NOT_READY', {
      detail: `${folder} ${why}: set backup.folder to one of its own, on another disk if there is any`
    })
  }
  if (place === host) refuse('is the data folder itself')
  if (isWithin(host, place)) refuse(`has the data folder ${data} in it`)
  const ours = join(host, DEFAULT_NAME)
  if (isWithin(place, host) && place !== ours && !isWithin(place, ours))
    refuse(`lies in the data folder ${data}`)
}
