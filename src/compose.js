/**
 * Builds the server from its parts and hands each what it needs. Everything may be seen here, and nothing is
 * done here: no protocol, no SQL, no keys.
 */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { OpenAccounts } from './accounts/open-accounts.js'
import { removePendingFolders } from './accounts/remove-account.js'
import { openAccountServices } from './accounts/services.js'
import { makeFirstAccount } from './accounts/first-account.js'
import { createAdmin } from './admin/create.js'
import { inTurn } from './cluster/start-turn.js'
import { readHostState } from './backup/host-state.js'
import { listenForBackups } from './backup/owner-listener.js'
import { scheduleNightly } from './backup/schedule.js'
import { createLmtpServer } from './delivery/lmtp.js'
import { createImapServer } from './imap/session/listener.js'
import { MailError } from './errors.js'
import { cleanLeftovers } from './maintenance/leftovers.js'
import { systemResources } from './maintenance/resources.js'
import { MaintenanceWorker } from './maintenance/worker.js'
import { createAuthServer } from './sasl/auth-server.js'
import { loadCertificates, watchCertificates } from './support/certificates.js'
import { systemClock } from './support/clock.js'
import { ProxyTrust } from './support/proxy-header.js'
import { createLogger } from './telemetry/logger.js'
import { PressureGuard, boundsOf } from './telemetry/pressure.js'
import { outliveUnawaited } from './telemetry/unawaited.js'

/**
 * @typedef {import('../config/load.js').Config} Config
 * @typedef {import('./accounts/throttle.js').ThrottleState} ThrottleState
 *
 * @typedef {object} StartOptions
 * @property {Config} config
 * @property {boolean} makeFirstAccount - a person watches: on the very first start, make a mailbox to try
 * @property {string[] | null} nightlyCommand - program and arguments of the nightly backup; null where somebody else
 *   starts it
 * @property {number | null} [slot] - this process's place among several workers; null: it serves alone
 *
 * @typedef {object} ListenerInfo
 * @property {'imap' | 'imaps' | 'lmtp' | 'admin' | 'userPage' | 'discovery'} name
 * @property {string} host
 * @property {number} port
 * @property {string} note - what speaks there
 *
 * @typedef {object} RunningServer
 * @property {ListenerInfo[]} listeners - as bound, in the order of the names above
 * @property {import('./support/certificate.js').Certificate} certificate
 * @property {import('./accounts/first-account.js').FirstAccount | null} firstAccount - made by this start
 * @property {boolean} hasAccounts
 * @property {() => Promise<void>} reloadCertificates - now; otherwise within half a minute of their files' change
 * @property {() => Promise<void>} close - commands and deliveries end, mailboxes are closed, keys zeroed
 */

/**
 * @param {string} address - HOST:PORT, [IPV6]:PORT or `off`, as the schema has checked
 * @returns {{ host: string, port: number } | null} null for `off`
 */
function parseAddress(address) {
  if (address === 'off') return null
  const colon = address.lastIndexOf(':')
  return {
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1))
  }
}

/**
 * @param {import('./support/certificates.js').CertificateSet} certificates
 * @returns {import('./imap/session/tls-context.js').TlsSettings}
 */
const tlsSettingsOf = ({ main: { certificate, key }, others }) => ({
  cert: certificate,
  key,
  others
})

/**
 * @param {import('./support/certificates.js').CertificateSet} certificates
 * @returns {import('./delivery/lmtp-service.js').LmtpTls}
 */
const lmtpTlsOf = ({ main, others }) => ({ ...main, others })

/**
 * @param {string} name - of the setting
 * @param {{ host: string, port: number }} where
 * @param {(where: { host: string, port: number }) => Promise<{ host: string, port: number }>} listen
 */
async function bind(name, where, listen) {
  try {
    return await listen(where)
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    throw new MailError('CONFIG_INVALID', {
      detail: `${name} cannot listen on ${where.host}:${where.port}: ${code ?? 'unknown'}`,
      cause
    })
  }
}

/**
 * @param {string} path - of the setting admin.socket
 * @param {(path: string) => Promise<void>} listen
 */
async function bindSocket(path, listen) {
  try {
    await listen(path)
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    throw new MailError('CONFIG_INVALID', {
      detail: `admin.socket cannot listen on ${path}: ${code ?? 'unknown'}`,
      cause
    })
  }
}

/**
 * @param {string} folder - the data folder, or in it
 */
async function makeFolder(folder) {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause)
    throw new MailError('CONFIG_INVALID', { detail: message, cause })
  }
}

/**
 * @param {StartOptions} options
 * @returns {Promise<RunningServer>} when every listener is up
 * @throws {MailError} CONFIG_INVALID, PEPPER_MISSING, FILE_TOO_NEW …; whatever had started is closed again
 */
export async function startServer({
  config,
  makeFirstAccount: mayMakeAccount,
  nightlyCommand,
  slot = null
}) {
  const clock = systemClock
  // PM2 takes a worker's log from this stream and not from its descriptor.
  const logStream = slot === null ? {} : { stream: process.stderr }
  const logger = createLogger({ level: config.log.level, ...logStream })
  const runFolder = join(config.data, 'run')
  const tlsFolder = join(config.data, 'tls')
  /** @type {(() => Promise<unknown>)[]} */
  const closers = [] // run in reverse order
  const close = async () => {
    isReady = false
    /** @type {unknown[]} */
    const failures = []
    // Each of them, whatever becomes of the others: behind them wait keys in memory and what is not written yet.
    for (const closeOne of closers.splice(0).reverse()) {
      try {
        await closeOne()
      } catch (err) {
        logger.error({ err }, 'a part of the server did not close')
        failures.push(err)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
  let isReady = false
  const endOutliving = outliveUnawaited(logger)
  closers.push(async () => endOutliving())

  try {
    for (const folder of ['', 'tmp', 'run', 'mail']) {
      await makeFolder(join(config.data, folder))
    }
    const isFirstStart = !existsSync(join(config.data, 'directory.db'))
    const begin = async () => ({
      certificates: await loadCertificates({ folder: tlsFolder, tls: config.tls, clock }),
      services: await openAccountServices({ config, clock, logger })
    })
    const { certificates, services } = await (slot === null ? begin() : inTurn(runFolder, begin))
    const certificate = certificates.main
    closers.push(() => services.close())
    const { directory, unlocker } = services
    await removePendingFolders({ services })

    const workers = slot === null ? 1 : config.cluster.workers || availableParallelism()
    const pressure = new PressureGuard({
      bounds: boundsOf({ limits: config.limits, workers }),
      onChange: (reason) => {
        if (reason === null) logger.warn('new sessions are taken again')
        else logger.warn({ reason }, 'new sessions are refused')
      }
    })
    closers.push(async () => pressure.close())
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
      endSessions: (accountId, text) => imap.endSessions(accountId, text)
    })
    closers.push(() => openAccounts.close())
    closers.push(() => maintenance.close())
    const owner = await listenForBackups({
      runFolder,
      findStore: (accountId) => openAccounts.findStore(accountId),
      closeMailbox: (accountId) =>
        openAccounts.closeMailbox(
          accountId,
          'The mailbox is being restored, come back in a minute'
        ),
      logger
    })
    closers.push(() => owner.close())

    const firstAccount =
      mayMakeAccount && isFirstStart ? await makeFirstAccount({ services }) : null

    const imap = createImapServer({
      config,
      authenticate: async (attempt) => {
        const unlocked = await unlocker.unlock(attempt)
        return cluster === null
          ? openAccounts.acquire(unlocked)
          : cluster.acquire(unlocked, attempt)
      },
      tls: tlsSettingsOf(certificates),
      clock,
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
    const askAllWorkers =
      slot === null
        ? null
        : async (/** @type {string} */ kind, /** @type {unknown} */ argument) =>
            (await cluster?.askAllWorkers(kind, argument)) ?? []
    const admin = await createAdmin({
      services,
      imap,
      openAccounts,
      maintenance,
      pressure,
      certificates,
      isReady: () => isReady,
      slot,
      askAllWorkers
    })
    closers.push(() => admin.close())
    const userPage =
      config.userPage.listen === 'off'
        ? null
        : await (
            await import('./user-page/create.js')
          ).createUserPage({
            services,
            imap,
            openAccounts,
            tls: tlsSettingsOf(certificates),
            askAllWorkers
          })

    /** @type {import('./cluster/cluster-worker.js').ClusterWorker | null} */
    let cluster = null
    if (slot !== null) {
      const { ClusterWorker } = await import('./cluster/cluster-worker.js')
      const joined = await ClusterWorker.join({
        runFolder,
        slot,
        lingerMs: config.accounts.lingerMs,
        port: {
          admits,
          findAccount: (accountId) => directory.findAccount(accountId),
          hasRoomFor: (accountId) => imap.hasRoomFor(accountId),
          acquire: (unlocked) => openAccounts.acquire(unlocked),
          adopt: (session) => imap.adopt(session)
        },
        ring: (accountId) => openAccounts.ring(accountId),
        endSession: (sessionId, text) => imap.endSession(sessionId, text),
        forget: (accountId) => {
          if (!openAccounts.isOpen(accountId)) unlocker.forget(accountId)
        },
        answers: {
          ...admin.answers,
          ...userPage?.answers,
          throttle: () => services.throttle.state
        },
        notices: { throttle: (change) => services.throttle.note(change) },
        logger
      })
      cluster = joined
      services.throttle.onChange = (change) => joined.tellOthers('throttle', change)
      const [, ...others] = await joined.askAllWorkers('throttle')
      for (const state of others) services.throttle.adopt(/** @type {ThrottleState} */ (state))
      closers.push(() => joined.close())
    }
    const { graceMs } = config.shutdown
    const sasl = createAuthServer({ config, unlocker, logger })
    const discovery =
      config.discovery.listen === 'off'
        ? null
        : await (
            await import('./discovery/server.js')
          ).createDiscoveryServer({ config, tls: tlsSettingsOf(certificates) })
    const isReplaced = () => cluster?.hasOthers ?? false
    closers.push(() =>
      Promise.all([
        imap.close({ graceMs, isReplaced }),
        lmtp.close(),
        sasl.close(),
        userPage?.close({ graceMs }),
        discovery?.close()
      ])
    )

    /** @type {ListenerInfo[]} */
    const listeners = []
    const start = async (
      /** @type {ListenerInfo['name']} */ name,
      /** @type {string} */ note,
      /** @type {(where: { host: string, port: number }) => Promise<{ host: string, port: number }>} */ listen
    ) => {
      const where = parseAddress(config[name].listen)
      if (where === null) return
      listeners.push({ name, note, ...(await bind(`${name}.listen`, where, listen)) })
    }
    const trust = new ProxyTrust(config.proxy.trustedAddresses)
    const proxyOf = (/** @type {'imap' | 'imaps' | 'lmtp' | 'userPage'} */ name) =>
      config[name].isProxied ? trust : null
    await start('imap', 'STARTTLS', (where) =>
      imap.listen({ ...where, isImplicitTls: false, proxy: proxyOf('imap') })
    )
    await start('imaps', 'TLS', (where) =>
      imap.listen({ ...where, isImplicitTls: true, proxy: proxyOf('imaps') })
    )
    await start('lmtp', 'delivery', (where) => lmtp.listen({ ...where, proxy: proxyOf('lmtp') }))
    await start('admin', admin.note, (where) => admin.listen(where))
    if (config.admin.socket !== '')
      await bindSocket(config.admin.socket, (path) => admin.listenOnSocket(path))
    if (config.sasl.socket !== '') await sasl.listen()
    if (userPage !== null)
      await start('userPage', 'page for users over HTTPS', (where) =>
        userPage.listen({ ...where, proxy: proxyOf('userPage') })
      )
    if (discovery !== null)
      await start('discovery', 'settings of mail programs', (where) => discovery.listen(where))
    const watch = watchCertificates({
      folder: tlsFolder,
      tls: config.tls,
      clock,
      onChange: (changed) => {
        imap.replaceCertificate(tlsSettingsOf(changed))
        lmtp.replaceCertificate(lmtpTlsOf(changed))
        admin.replaceCertificates(changed)
        userPage?.replaceCertificate(tlsSettingsOf(changed))
        discovery?.replaceCertificate(tlsSettingsOf(changed))
      },
      logger
    })
    closers.push(async () => watch.close())
    const cleaning = cleanLeftovers({ services })
    closers.push(() => cleaning.stop())

    if (nightlyCommand && config.backup.isNightly) {
      const nightly = scheduleNightly({
        settings: config.backup,
        command: nightlyCommand,
        isWanted: async () => (await readHostState(config.data)) !== null,
        clock,
        logger
      })
      closers.push(() => nightly.close())
    }
    if (cluster !== null) closers.push(() => cluster.leave())
    isReady = true
    logger.info({ listeners: listeners.length }, 'started')
    const hasAccounts = (await directory.pageFolders({ afterId: '', limit: 1 })).length > 0
    return {
      listeners,
      certificate,
      firstAccount,
      hasAccounts,
      reloadCertificates: watch.reload,
      close
    }
  } catch (error) {
    // What goes wrong with that is in the log, and is not why the server has not started.
    await close().catch(() => {})
    throw error
  }
}
