/**
 * The services that the modules of this folder work with, opened once for a process: by the server and by each
 * command of the command line.
 */
import { join } from 'node:path'
import { hkdf } from '../crypto/kdf.js'
import { MailError } from '../errors.js'
import { isThere } from '../support/is-there.js'
import { makeFolderDurably } from '../support/write-file.js'
import { Argon2Queue } from './argon2-queue.js'
import { auditLimitsOf } from './audit-limits.js'
import { openDirectory } from './directory.js'
import { loadPepper } from './pepper.js'
import { RepeatLoginCache } from './repeat-login-cache.js'
import { lacksDirectory, requireNoMailboxes } from './stranded-mailboxes.js'
import { Throttle } from './throttle.js'
import { Unlocker } from './unlock.js'

/**
 * @typedef {object} AccountServices
 * @property {import('../../config/load.js').Config} config
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {import('./directory-port.js').DirectoryPort} directory
 * @property {import('./pepper.js').Pepper} pepper
 * @property {Argon2Queue} argon2
 * @property {Throttle} throttle
 * @property {Unlocker} unlocker
 * @property {() => Promise<void>} close - forgets every key and flushes the directory
 */

/** Lies in a data folder while a whole host is being restored onto it: nothing may begin anew there. */
export const UNFINISHED_RESTORE = 'restoring.json'

/**
 * @param {object} options
 * @param {import('../../config/load.js').Config} options.config
 * @param {import('../support/clock.js').Clock} options.clock
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @returns {Promise<AccountServices>}
 * @throws {import('../errors.js').MailError} PEPPER_MISSING, CONFIG_INVALID, FILE_TOO_NEW, DIRECTORY_DAMAGED,
 *   RESTORE_REFUSED, DIRECTORY_MISSING
 */
export async function openAccountServices({ config, clock, logger }) {
  const isNew = await lacksDirectory(config.data)
  if (isNew && (await isThere(join(config.data, UNFINISHED_RESTORE))))
    throw new MailError('RESTORE_REFUSED', {
      detail: `a restore onto ${config.data} was not finished: repeat it`
    })
  if (isNew) requireNoMailboxes(config.data)
  await makeFolderDurably(config.data)
  const directory = openDirectory({
    path: join(config.data, 'directory.db'),
    defaultDomain: config.defaultDomain,
    clock,
    logger,
    audit: auditLimitsOf(config)
  })
  try {
    const pepper = await loadPepper({
      path: config.auth.pepperFile,
      neededIds: await directory.listPepperIds(),
      isLost: config.auth.isPepperLost
    })
    const { concurrency, queueLength } = config.auth
    const argon2 = new Argon2Queue({ params: config.auth.argon2, concurrency, queueLength })
    const throttle = new Throttle({
      clock,
      // Derived from the pepper, so that the workers of a host know each other's fingerprints, which are nowhere on disk.
      fingerprintKey: hkdf({ key: pepper.key.bytes, info: 'letterlock/1 throttle', size: 32 }),
      exemptAddresses: config.limits.exemptAddresses,
      defaultDomain: config.defaultDomain
    })
    const repeatLogins = config.auth.repeatLoginCache
      ? new RepeatLoginCache({ directory, clock })
      : null
    const parts = { directory, pepper, argon2, throttle, clock, logger }
    const { defaultDomain } = config
    const unlocker = new Unlocker({ ...parts, repeatLogins, defaultDomain })
    return {
      ...parts,
      config,
      unlocker,
      close: async () => {
        await unlocker.close()
        pepper.key.dispose()
        await directory.close()
      }
    }
  } catch (error) {
    await directory.close()
    throw error
  }
}
