/**
 * Finds before a worker is started what can be known to be wrong: whoever is told at the terminal need not look into a log.
 */
import { join } from 'node:path'
import { openAccountServices } from '../../src/accounts/services.js'
import { loadCertificates } from '../../src/support/certificates.js'
import { systemClock } from '../../src/support/clock.js'
import { groupNumber, requireFolderOf } from '../../src/support/unix-socket.js'
import { createLogger } from '../../src/telemetry/logger.js'

/**
 * Checks certificates and keys, the folders of sockets, the pepper, and the directory, which is migrated as by any command.
 *
 * @param {import('../../config/load.js').Config} config
 * @throws {import('../../src/errors.js').MailError} as a server would that starts
 */
export async function checkStart(config) {
  const { data, tls, admin, sasl } = config
  const clock = systemClock
  await loadCertificates({ folder: join(data, 'tls'), tls, clock })
  if (admin.socket !== '') await requireFolderOf('admin.socket', admin.socket)
  if (sasl.socket !== '') {
    await requireFolderOf('sasl.socket', sasl.socket)
    await groupNumber(sasl.group)
  }
  const logger = createLogger({ level: 'silent' })
  const services = await openAccountServices({ config, clock, logger })
  await services.close()
}
