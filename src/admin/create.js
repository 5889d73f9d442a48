/**
 * From the parts of a running server to its admin interface. Figures and sessions are those of all workers, whichever of
 * them answers the request.
 */
import { EventLoopMeter } from '../telemetry/event-loop.js'
import { certificateEnds } from '../support/certificates.js'
import { programVersion } from '../support/program-version.js'
import { createBackupList } from '../backup/backup-list.js'
import { HostState } from './host-state.js'
import { createAdminServer } from './server.js'
import { HostSurvey } from './survey.js'
import { takeWorkerSnapshot } from './worker-snapshot.js'

/** @import { CertificateSet } from '../support/certificates.js' */
/** @import { AccountServices } from '../accounts/services.js' */
/** @import { ImapServer } from '../imap/session/listener.js' */
/** @import { OpenAccounts } from '../accounts/open-accounts.js' */
/** @import { MaintenanceWorker } from '../maintenance/worker.js' */
/** @import { SessionFacts } from '../imap/session/session-facts.js' */
/** @import { WorkerSnapshot } from '../telemetry/snapshot.js' */

/** The text of BYE for a session that an operator ends. */
const BYE = 'The administrator has ended this session'

/**
 * @typedef {object} Admin
 * @property {string} note - what speaks there
 * @property {import('./server.js').AdminServer['app']} app - for tests
 * @property {import('./server.js').AdminServer['listen']} listen
 * @property {(path: string) => Promise<void>} listenOnSocket - besides `listen`
 * @property {(certificates: CertificateSet) => void} replaceCertificates - for new handshakes, and for health
 * @property {Record<string, (argument: any) => unknown>} answers - what this worker tells the others, by kind
 * @property {() => Promise<void>} close
 */

/**
 * @param {object} options
 * @param {AccountServices} options.services
 * @param {Pick<ImapServer, 'counts' | 'listSessions' | 'endSession'>} options.imap
 * @param {Pick<OpenAccounts, 'figures' | 'isOpen'>} options.openAccounts
 * @param {Pick<MaintenanceWorker, 'figures'>} options.maintenance
 * @param {CertificateSet} options.certificates
 * @param {Pick<import('../telemetry/pressure.js').PressureGuard, 'figures'>} options.pressure
 * @param {() => boolean} options.isReady
 * @param {number | null} [options.slot] - of this worker; null where it is the only one
 * @param {((kind: string, argument?: unknown, options?: { timeoutMs?: number }) => Promise<unknown[]>) | null} [options.askAllWorkers] -
 *   gets one of `answers` from each worker; null where this is the only one
 * @param {() => Promise<number>} [options.countSilentWorkers] - how many of the others answer nothing
 * @returns {Promise<Admin>}
 */
export async function createAdmin({
  services,
  imap,
  openAccounts,
  maintenance,
  certificates,
  pressure,
  isReady,
  slot = null,
  askAllWorkers = null,
  countSilentWorkers = async () => 0
}) {
  const { config, directory, clock, logger } = services
  const eventLoop = new EventLoopMeter()
  /** @type {Admin['answers']} */
  const answers = {
    snapshot: () =>
      takeWorkerSnapshot({
        ...{ imap, openAccounts, maintenance, eventLoop, pressure, slot },
        argon2: services.argon2
      }),
    openOf: (/** @type {string[]} */ accountIds) =>
      accountIds.filter((accountId) => openAccounts.isOpen(accountId)),
    sessions: () => imap.listSessions(),
    endSession: (/** @type {string} */ sessionId) => imap.endSession(sessionId, BYE)
  }
  const ask = askAllWorkers ?? (async (kind, argument) => [await answers[kind]?.(argument)])
  const backups = createBackupList({ config, directory, clock })
  const survey = new HostSurvey({
    data: config.data,
    directory,
    whichAreOpen: async (accountIds) =>
      /** @type {string[][]} */ (await ask('openOf', accountIds)).flat(),
    clock,
    logger
  })
  let ends = certificateEnds(certificates)
  const state = new HostState({
    workers: async (options) =>
      /** @type {WorkerSnapshot[]} */ (await ask('snapshot', null, options)),
    silentWorkers: countSilentWorkers,
    survey,
    backups,
    certificates: () => ends,
    services
  })
  const parts = {
    services,
    state,
    isReady,
    version: programVersion(),
    sessions: {
      list: async () =>
        /** @type {SessionFacts[][]} */ (await ask('sessions'))
          .flat()
          .sort((left, right) => left.startedAtMs - right.startedAtMs),
      end: async (/** @type {string} */ sessionId) =>
        (await ask('endSession', sessionId)).includes(true)
    }
  }
  const { certificate: cert, key } = certificates.main
  const server = await createAdminServer({
    ...parts,
    tls: config.admin.isTls ? { cert, key } : null
  })
  // A second server: an instance of fastify listens only once.
  const socketServer =
    config.admin.socket === '' ? null : await createAdminServer({ ...parts, tls: null })
  const begin = () => {
    if (hasBegun) return
    hasBegun = true
    survey.start()
    state.start()
  }
  let hasBegun = false
  return {
    note: `admin over HTTP${config.admin.isTls ? 'S' : ''}`,
    app: server.app,
    replaceCertificates: (changed) => {
      ends = certificateEnds(changed)
      if (config.admin.isTls) server.replaceCertificate(changed.main)
    },
    answers,
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
