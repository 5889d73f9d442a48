/**
 * Builds the server from its parts and hands each what it needs. Everything may be seen here, and nothing is
 * done here: no protocol, no SQL, no keys.
 */
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { makeFirstAccount } from './accounts/first-account.js'
import { OpenAccounts } from './accounts/open-accounts.js'
import { keepRemoving, removePendingFolders } from './accounts/remove-account.js'
import { rememberPlaces } from './accounts/remember-places.js'
import { openAccountServices } from './accounts/services.js'
import { createAdmin } from './admin/create.js'
import { hostIdOf, readHostState } from './backup/host-state.js'
import { listenForBackups } from './backup/owner-listener.js'
import { scheduleNightly } from './backup/schedule.js'
import { inTurn } from './cluster/start-turn.js'
import { Closers } from './compose/closers.js'
import { openDoors } from './compose/doors.js'
import { lmtpTlsOf, replaceCertificates, tlsSettingsOf } from './compose/tls.js'
import { createLmtpServer } from './delivery/lmtp.js'
import { MailError } from './errors.js'
import { createImapServer } from './imap/session/listener.js'
import { warmUp } from './imap/session/warm-up.js'
import { cleanLeftovers } from './maintenance/leftovers.js'
import { systemResources } from './maintenance/resources.js'
import { MaintenanceWorker } from './maintenance/worker.js'
import { createAuthServer } from './sasl/auth-server.js'
import { mailDictionary } from './store/mail-dictionary.js'
import { endStoreThreads, prepareStoreThreads } from './store/store-threads.js'
import { loadCertificates, warnOfEnded, watchCertificates } from './support/certificates.js'
import { steadyClock, systemClock } from './support/clock.js'
import { diskTrouble } from './support/disk-trouble.js'
import { makeFolderDurably } from './support/write-file.js'
import { createLogger } from './telemetry/logger.js'
import { PressureGuard, boundsOf } from './telemetry/pressure.js'
import { outliveUnawaited } from './telemetry/unawaited.js'

/**
 * @typedef {import('../config/load.js').Config} Config
 * @typedef {import('./accounts/services.js').AccountServices} AccountServices
 * @typedef {import('./compose/doors.js').ListenerInfo} ListenerInfo
 * @typedef {import('./compose/doors.js').Servers} Servers
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
 */

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

/**
 * @param {StartOptions} options
 * @returns {Promise<RunningServer>} when every listener is up
 * @throws {MailError} CONFIG_INVALID, PEPPER_MISSING, FILE_TOO_NEW …; whatever had started is closed again
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
 * @param {StartOptions} options
 * @param {{ logger: Logger, closers: Closers }} context - `closers` learns of each part as
 *   it starts
 * @returns {Promise<Omit<RunningServer, 'close'>>}
 */
async function compose(
  { config, makeFirstAccount: mayMakeAccount, nightlyCommand, slot = null },
  { logger, closers }
) {
  const clock = systemClock
  const runFolder = join(config.data, 'run')
  const tlsFolder = join(config.data, 'tls')
  let isReady = false
  /**
   * Joined further down; what is built before asks for it only once it runs.
   *
   * @type {import('./cluster/cluster-worker.js').ClusterWorker | null}
   */
  let cluster = null

  // Without it no mail can be read or stored: better no server than one that says so at each command.
  mailDictionary()
  for (const folder of ['', 'tmp', 'run', 'mail']) await makeFolder(join(config.data, folder))
  const open = async () => ({
    certificates: await loadCertificates({ folder: tlsFolder, tls: config.tls, clock }),
    services: await openAccountServices({ config, clock, logger })
  })
  const { certificates, services } = await (slot === null ? open() : inTurn(runFolder, open))
  closers.add(() => services.close())
  closers.add(endStoreThreads)
  warnOfEnded(certificates, { clock, logger })
  const { directory, unlocker } = services
  await removePendingFolders({ services })
  const removing = keepRemoving({ services })
  closers.add(() => removing.stop())

  const pressure = guardAgainstPressure({ config, slot, logger })
  closers.add(async () => pressure.close())
  const admits = () => pressure.admits()

  const maintenance = new MaintenanceWorker({ services, resources: systemResources })
  const openAccounts = new OpenAccounts({
    services,
    maintenance,
    onOpening: (accountId) => cluster?.hold(accountId),
    onLocked: (accountId) => {
      unlocker.forget(accountId)
      cluster?.release(accountId)
    },
    endSessions: (...ending) => imap.endSessions(...ending)
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

  const tls = tlsSettingsOf(certificates)
  const imap = createImapServer({
    config,
    authenticate: async (attempt) => {
      const unlocked = await unlocker.unlock(attempt)
      return cluster === null ? openAccounts.acquire(unlocked) : cluster.acquire(unlocked, attempt)
    },
    tls,
    clock,
    steadyClock,
    logger,
    shareOf: (limit) => Math.ceil(limit / (cluster?.slots ?? 1)),
    admits
  })
  const lmtp = createLmtpServer({
    config,
    directory,
    clock,
    logger,
    tls: lmtpTlsOf(certificates),
    admits,
    notify: (accountId) => {
      openAccounts.ring(accountId)
      cluster?.ring(accountId)
    }
  })
  const sasl = createAuthServer({ config, unlocker, logger })
  const askAllWorkers =
    slot === null
      ? null
      : async (
          /** @type {string} */ kind,
          /** @type {unknown} */ argument,
          /** @type {{ timeoutMs?: number }} */ options = {}
        ) => (await cluster?.askAllWorkers(kind, argument, options)) ?? []
  const admin = await createAdmin({
    services,
    imap,
    openAccounts,
    maintenance,
    pressure,
    certificates,
    // All workers answer this at one port: one that is going must not call the host unready while others serve on.
    isReady: () => (isReady && !closers.isClosing) || cluster?.hasOthers === true,
    slot,
    askAllWorkers,
    countSilentWorkers: async () => (await cluster?.countSilent()) ?? 0
  })
  closers.add(() => admin.close())
  const { userPage, discovery } = await createOptionalServers({
    services,
    imap,
    openAccounts,
    tls,
    askAllWorkers
  })

  await warmUp()
  if (slot !== null) {
    const { joinCluster, shareThrottle } = await import('./compose/join-cluster.js')
    const answers = { ...admin.answers, ...userPage?.answers }
    const parts = { services, openAccounts, imap, admits, answers, logger }
    cluster = await joinCluster({ slot, runFolder, ...parts })
    closers.add(async () => cluster?.close())
    await shareThrottle(cluster, services.throttle)
  }

  const { graceMs } = config.shutdown
  const isReplaced = () => cluster?.hasOthers ?? false
  closers.add(() =>
    Promise.all([
      imap.close({ graceMs, isReplaced }),
      lmtp.close(),
      sasl.close(),
      userPage?.close({ graceMs }),
      discovery?.close()
    ])
  )
  const servers = { imap, lmtp, admin, sasl, userPage, discovery }
  const listeners = await openDoors(config, servers)
  const watch = watchCertificates({
    folder: tlsFolder,
    tls: config.tls,
    clock,
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
  closers.add(async () => cluster?.leave())
  // Last of all: a password is shown this once, by a start that comes to its end.
  const accounts = await findOrMakeAccount({ services, mayMakeAccount })
  isReady = true
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
 * The servers that many hosts have switched off: their code is loaded only where they are on.
 *
 * @param {Parameters<typeof import('./user-page/create.js').createUserPage>[0]} parts
 * @returns {Promise<Pick<Servers, 'userPage' | 'discovery'>>} null for what is off
 */
async function createOptionalServers(parts) {
  const { tls, services } = parts
  const { config } = services
  const isOn = (/** @type {{ listen: string }} */ { listen }) => listen !== 'off'
  return {
    userPage: isOn(config.userPage)
      ? await (await import('./user-page/create.js')).createUserPage(parts)
      : null,
    discovery: isOn(config.discovery)
      ? await (await import('./discovery/server.js')).createDiscoveryServer({ config, tls })
      : null
  }
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
