/**
 * The first step of a start: the data folder with what lies in it for all accounts.
 */
import { dirname, join } from 'node:path'
import { openAccountServices } from '../accounts/services.js'
import { inTurn } from '../cluster/start-turn.js'
import { MailError } from '../errors.js'
import { loadCertificates } from '../support/certificates.js'
import { diskTrouble } from '../support/disk-trouble.js'
import { makeFolderDurably } from '../support/write-file.js'

/** @import { StepContext } from '../compose.js' */
/** @import { AccountServices } from '../accounts/services.js' */
/** @import { LoadedCertificates } from '../support/certificates.js' */

/**
 * Opens the data folder, and makes what it lacks. Workers do so one after the other.
 *
 * @param {Pick<StepContext, 'config' | 'slot' | 'clock' | 'logger'>} context
 * @param {{ runFolder: string, tlsFolder: string }} folders
 * @returns {Promise<{ certificates: LoadedCertificates, services: AccountServices }>} the caller closes `services`
 * @throws {MailError} CONFIG_INVALID, PEPPER_MISSING, FILE_TOO_NEW …
 */
export async function openData({ config, slot, clock, logger }, { runFolder, tlsFolder }) {
  for (const folder of ['', 'tmp', 'run', 'mail']) await makeFolder(join(config.data, folder))
  const open = async () => ({
    certificates: await loadCertificates({ folder: tlsFolder, tls: config.tls, clock }),
    services: await openAccountServices({ config, clock, logger })
  })
  return await (slot === null ? open() : inTurn(runFolder, open))
}

/**
 * @param {string} folder - the data folder, or in it
 */
async function makeFolder(folder) {
  try {
    await makeFolderDurably(folder)
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause)
    const trouble = await diskTrouble(dirname(folder))
    const detail =
      trouble === null ? message : `${folder} cannot be made: the disk takes nothing (${trouble})`
    throw new MailError('CONFIG_INVALID', { detail, cause })
  }
}
