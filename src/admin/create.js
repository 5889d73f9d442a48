/**
 * From the parts of a running server to its admin interface: one worker today, which asks itself for its figures and its
 * sessions. With several, `workers` and `sessions` ask the others too, and nothing else here changes.
 */
import { readFileSync } from 'node:fs'
import { EventLoopMeter } from '../telemetry/event-loop.js'
import { createBackupPort } from './backup-port.js'
import { HostState } from './host-state.js'
import { createAdminServer } from './server.js'
import { HostSurvey } from './survey.js'
import { takeWorkerSnapshot } from './worker-snapshot.js'

/** @import { AccountServices } from '../accounts/services.js' */
/** @import { ImapServer } from '../imap/session/listener.js' */
/** @import { OpenAccounts } from '../accounts/open-accounts.js' */
/** @import { MaintenanceWorker } from '../maintenance/worker.js' */

/** What a client is told that an operator disconnects. */
const BYE = 'The administrator has ended this session'

/**
 * @typedef {object} Admin
 * @property {string} note - what speaks there
 * @property {import('./server.js').AdminServer['app']} app - for tests
 * @property {import('./server.js').AdminServer['listen']} listen
 * @property {(path: string) => Promise<void>} listenOnSocket - besides
 * @property {() => Promise<void>} close
 */

/**
 * @param {object} options
 * @param {AccountServices} options.services
 * @param {Pick<ImapServer, 'counts' | 'listSessions' | 'endSession'>} options.imap
 * @param {Pick<OpenAccounts, 'figures' | 'isOpen'>} options.openAccounts
 * @param {Pick<MaintenanceWorker, 'figures'>} options.maintenance
 * @param {import('../support/certificate.js').Certificate} options.certificate
 * @param {() => boolean} options.isReady
 * @returns {Promise<Admin>}
 */
export async function createAdmin({
  services,
  imap,
  openAccounts,
  maintenance,
  certificate,
  isReady
}) {
  const { config, directory, clock, logger } = services
  const eventLoop = new EventLoopMeter()
  const backups = createBackupPort({ config, directory })
  const survey = new HostSurvey({
    data: config.data,
    directory,
    isOpen: (accountId) => openAccounts.isOpen(accountId),
    clock,
    logger
  })
  const state = new HostState({
    workers: async () => [takeWorkerSnapshot({ imap, openAccounts, maintenance, eventLoop })],
    survey,
    backups,
    services
  })
  const parts = {
    services,
    state,
    backups,
    maintenance,
    isReady,
    version: programVersion(),
    sessions: {
      list: async () => imap.listSessions(),
      end: async (/** @type {string} */ sessionId) => imap.endSession(sessionId, BYE)
    }
  }
  const { certificate: cert, key } = certificate
  const server = await createAdminServer({
    ...parts,
    tls: config.admin.isTls ? { cert, key } : null
  })
  // A server of its own: fastify listens once.
  const socketServer =
    config.admin.socket === '' ? null : await createAdminServer({ ...parts, tls: null })
  const begin = () => {
    if (!hasBegun) survey.start()
    hasBegun = true
  }
  let hasBegun = false
  return {
    note: `admin over HTTP${config.admin.isTls ? 'S' : ''}`,
    app: server.app,
    listen: async (where) => {
      begin()
      return await server.listen(where)
    },
    listenOnSocket: async (path) => {
      begin()
      await socketServer?.listenOnSocket(path)
    },
    close: async () => {
      await server.close()
      await socketServer?.close()
      state.close()
      await survey.close()
      eventLoop.close()
    }
  }
}

/** @returns {string} */
function programVersion() {
  const file = new URL('../../package.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).version
}
