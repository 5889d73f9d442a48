/**
 * Builds the server from its parts and hands each what it needs. Everything may be seen here, and nothing is
 * done here: no protocol, no SQL, no keys.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { makeFirstAccount } from './accounts/first-account.js'
import { OpenAccounts } from './accounts/open-accounts.js'
import { keepRemoving, removePendingFolders } from './accounts/remove-account.js'
import { rememberPlaces } from './accounts/remember-places.js'
import { hostIdOf, readHostState } from './backup/host-state.js'
import { listenForBackups } from './backup/owner-listener.js'
import { scheduleNightly } from './backup/schedule.js'
import { Closers } from './compose/closers.js'
import { createServers } from './compose/create-servers.js'
import { openDoors } from './compose/doors.js'
import { openData } from './compose/open-data.js'
import { replaceCertificates } from './compose/tls.js'
import { warmUp } from './imap/session/warm-up.js'
import { cleanLeftovers } from './maintenance/leftovers.js'
import { systemResources } from './maintenance/resources.js'
import { MaintenanceWorker } from './maintenance/worker.js'
import { mailDictionary } from './store/mail-dictionary.js'
import { endStoreThreads, prepareStoreThreads } from './store/store-threads.js'
import { warnOfEnded, watchCertificates } from './support/certificates.js'
import { systemClock } from './support/clock.js'
import { createLogger } from './telemetry/logger.js'
import { PressureGuard, boundsOf } from './telemetry/pressure.js'
import { outliveUnawaited } from './telemetry/unawaited.js'

/**
 * @typedef {import('../config/load.js').Config} Config
 * @typedef {import('./accounts/services.js').AccountServices} AccountServices
 * @typedef {import('./cluster/cluster-worker.js').ClusterWorker} ClusterWorker
 * @typedef {import('./compose/doors.js').ListenerInfo} ListenerInfo
 * @typedef {import('./compose/doors.js').Servers} Servers
 * @typedef {import('./imap/session/listener.js').ImapServer} ImapServer
 * @typedef {import('./support/clock.js').Clock} Clock
 * @typedef {import('./telemetry/logger.js').Logger} Logger
 *
 * @typedef {object} StartOptions
 * @property {Config} config
 * @property {boolean} makeFirstAccount - a person watches: where there has never been an account, make a mailbox to try
 * @property {string[] | null} nightlyCommand - program and arguments of the nightly backup; null where somebody else
 *   starts it
 * @property {number | null} [slot] - this process's place among several workers; null: it serves alone
 *
 * @typedef {object} RunningServer
 * @property {ListenerInfo[]} listeners - as bound
 * @property {import('./support/certificate.js').Certificate} certificate
 * @property {import('./accounts/first-account.js').FirstAccount | null} firstAccount - made by this start
 * @property {boolean} hasAccounts
 * @property {() => Promise<void>} reloadCertificates - now; otherwise within half a minute of their files' change
 * @property {() => Promise<void>} close - commands and deliveries end, mailboxes are closed, keys zeroed
 *
 * @typedef {object} StepContext - what the steps of a start share
 * @property {Config} config
 * @property {number | null} slot - as in StartOptions
 * @property {Clock} clock
 * @property {Logger} logger
 * @property {Closers} closers
 * @property {Later} later
 *
 * @typedef {object} Later - what a later step makes than the parts that use it; they do so only once clients can connect
 * @property {ImapServer | null} imap
 * @property {ClusterWorker | null} cluster - stays null where this process serves alone
 * @property {boolean} isReady - whether the start has come to its end
 */

/**
 * @param {StartOptions} options
 * @returns {Promise<RunningServer>} when every listener is up
 * @throws {import('./errors.js').MailError} CONFIG_INVALID, PEPPER_MISSING, FILE_TOO_NEW …; whatever had started is closed again
 */
export async function startServer(options) {
  // PM2 takes a worker's log from this stream and not from its descriptor.
  const logStream = (options.slot ?? null) === null ? {} : { stream: process.stderr }
  const logger = createLogger({ level: options.config.log.level, ...logStream })
  const closers = new Closers(logger)
  const endOutliving = outliveUnawaited(logger)
  closers.add(async () => endOutliving())
  try {
    return { ...(await compose(options, { logger, closers })), close: () => closers.close() }
  } catch (error) {
    // What goes wrong with that is in the log, and is not why the server has not started.
    await closers.close().catch(() => {})
    throw error
  }
}

/**
 * The steps of a start:
 *
 *     data ─► mailboxes ─► servers ─► the other workers ─► doors ─► upkeep of the host ─► first account
 *
 * `closers` ends whatever was started, in the reverse order. Doors open only once the other workers are known: one of them
 * may have a client's mailbox open. The first account comes last: its password is shown this once, by a start that succeeds.
 *
 * @param {StartOptions} options
 * @param {{ logger: Logger, closers: Closers }} context - `closers` learns of each part as it starts
 * @returns {Promise<Omit<RunningServer, 'close'>>}
 */
async function compose(
  { config, makeFirstAccount: mayMakeAccount, nightlyCommand, slot = null },
  { logger, closers }
) {
  const runFolder = join(config.data, 'run')
  const tlsFolder = join(config.data, 'tls')
  const clock = systemClock
  /** @type {Later} */
  const later = { imap: null, cluster: null, isReady: false }
  const context = { config, slot, clock, logger, closers, later }

  // Without it no mail can be read or stored: better no server than one that says so at each command.
  mailDictionary()
  const { certificates, services } = await openData(context, { runFolder, tlsFolder })
  closers.add(() => services.close())
  closers.add(endStoreThreads)
  warnOfEnded(certificates, { clock, logger })
  await removePendingFolders({ services })
  const removing = keepRemoving({ services })
  closers.add(() => removing.stop())

  const pressure = guardAgainstPressure({ config, slot, logger })
  closers.add(async () => pressure.close())
  const mailboxes = await openMailboxes(context, { services, runFolder })
  const { openAccounts } = mailboxes
  const servers = await createServers(context, { services, certificates, pressure, ...mailboxes })
  later.imap = servers.imap

  await warmUp()
  if (slot !== null) {
    const { joinCluster, shareThrottle } = await import('./compose/join-cluster.js')
    const { imap, admin, userPage } = servers
    const answers = { ...admin.answers, ...userPage?.answers }
    const admits = () => pressure.admits()
    const parts = { services, openAccounts, imap, admits, answers, logger }
    const cluster = await joinCluster({ slot, runFolder, ...parts })
    later.cluster = cluster
    closers.add(() => cluster.close())
    await shareThrottle(cluster, services.throttle)
  }

  closers.add(() => closeServers(context, servers))
  const listeners = await openDoors(config, servers)
  const watch = watchCertificates({
    folder: tlsFolder,
    tls: config.tls,
    clock,
    inUse: certificates,
    onChange: (changed) => replaceCertificates(servers, changed),
    logger
  })
  closers.add(async () => watch.close())
  const cleaning = cleanLeftovers({ services })
  closers.add(() => cleaning.stop())
  const remembering = rememberPlaces({ services })
  closers.add(() => remembering.stop())
  const nightly = await scheduleBackups({ config, nightlyCommand, clock, logger })
  closers.add(async () => nightly?.close())
  // Added last, so that a worker which ends sends new sessions to the others before anything else of it is closed.
  closers.add(async () => later.cluster?.leave())

  const accounts = await findOrMakeAccount({ services, mayMakeAccount })
  later.isReady = true
  prepareStoreThreads()
  logger.info({ listeners: listeners.length }, 'started')
  return {
    listeners,
    certificate: certificates.main,
    ...accounts,
    reloadCertificates: watch.reload
  }
}

/**
 * Makes what holds the open mailboxes of this process (none yet), and lets backups and restores ask for them.
 *
 * @param {StepContext} context
 * @param {{ services: AccountServices, runFolder: string }} parts
 * @returns {Promise<{ openAccounts: OpenAccounts, maintenance: MaintenanceWorker }>}
 */
async function openMailboxes({ logger, closers, later }, { services, runFolder }) {
  const maintenance = new MaintenanceWorker({ services, resources: systemResources })
  const openAccounts = new OpenAccounts({
    services,
    maintenance,
    onOpening: (accountId) => later.cluster?.hold(accountId),
    onLocked: (accountId) => {
      services.unlocker.forget(accountId)
      later.cluster?.release(accountId)
    },
    endSessions: (...ending) => later.imap?.endSessions(...ending)
  })
  closers.add(() => openAccounts.close())
  closers.add(() => maintenance.close())
  const owner = await listenForBackups({
    runFolder,
    findStore: (accountId) => openAccounts.findStore(accountId),
    closeMailbox: (accountId) =>
      openAccounts.closeMailbox(accountId, 'The mailbox is being restored, come back in a minute'),
    ring: (accountId) => openAccounts.ring(accountId),
    logger
  })
  closers.add(() => owner.close())
  return { openAccounts, maintenance }
}

/**
 * Closes all servers at once but the admin interface, whose turn comes after the cluster's.
 *
 * @param {Pick<StepContext, 'config' | 'later'>} context
 * @param {Servers} servers
 */
function closeServers({ config, later }, { imap, lmtp, sasl, userPage, discovery }) {
  const { graceMs } = config.shutdown
  const isReplaced = () => later.cluster?.hasOthers ?? false
  return Promise.all([
    imap.close({ graceMs, isReplaced }),
    lmtp.close(),
    sasl.close(),
    userPage?.close({ graceMs }),
    discovery?.close()
  ])
}

/**
 * @param {object} options
 * @param {Config} options.config
 * @param {number | null} options.slot - of this worker; null: it is the only one, and all that the host can bear is its own
 * @param {Logger} options.logger
 * @returns {PressureGuard}
 */
function guardAgainstPressure({ config, slot, logger }) {
  const workers = slot === null ? 1 : config.cluster.workers || availableParallelism()
  return new PressureGuard({
    bounds: boundsOf({ limits: config.limits, workers }),
    onChange: (reason) => {
      if (reason === null) logger.warn('new sessions are taken again')
      else logger.warn({ reason }, 'new sessions are refused')
    }
  })
}

/**
 * @param {Pick<StartOptions, 'config' | 'nightlyCommand'> & { clock: Clock, logger: Logger }} options
 * @returns {Promise<ReturnType<typeof scheduleNightly> | null>} null where nobody wants backups of this process
 */
async function scheduleBackups({ config, nightlyCommand, clock, logger }) {
  if (nightlyCommand === null || !config.backup.isNightly) return null
  return scheduleNightly({
    settings: config.backup,
    hostId: await hostIdOf(config.data),
    command: nightlyCommand,
    isWanted: async () => (await readHostState(config.data)) !== null,
    clock,
    logger
  })
}

/**
 * @param {{ services: AccountServices, mayMakeAccount: boolean }} options
 * @returns {Promise<Pick<RunningServer, 'firstAccount' | 'hasAccounts'>>}
 */
async function findOrMakeAccount({ services, mayMakeAccount }) {
  const { directory } = services
  const [account] = await directory.pageFolders({ afterId: '', limit: 1 })
  if (account !== undefined) return { firstAccount: null, hasAccounts: true }
  // Domains outlive their accounts: where there is no domain there has never been an account. Whoever has deleted the last
  // account is not given another one.
  const isFirst = mayMakeAccount && (await directory.listDomains()).length === 0
  const firstAccount = isFirst ? await makeFirstAccount({ services }) : null
  return { firstAccount, hasAccounts: firstAccount !== null }
}
