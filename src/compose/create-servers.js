/**
 * The servers of a process, made from the parts behind them. None of them listens yet: see doors.js.
 */
import { createAdmin } from '../admin/create.js'
import { createLmtpServer } from '../delivery/lmtp.js'
import { createImapServer } from '../imap/session/listener.js'
import { createAuthServer } from '../sasl/auth-server.js'
import { steadyClock } from '../support/clock.js'
import { lmtpTlsOf, tlsSettingsOf } from './tls.js'

/** @import { OpenAccounts } from '../accounts/open-accounts.js' */
/** @import { AccountServices } from '../accounts/services.js' */
/** @import { StepContext } from '../compose.js' */
/** @import { MaintenanceWorker } from '../maintenance/worker.js' */
/** @import { CertificateSet } from '../support/certificates.js' */
/** @import { PressureGuard } from '../telemetry/pressure.js' */
/** @import { Servers } from './doors.js' */

/** @typedef {(kind: string, argument?: unknown, options?: { timeoutMs?: number }) => Promise<unknown[]>} AskAllWorkers */

/**
 * @param {StepContext} context - `closers` learns of the admin interface, which is closed after all other servers
 * @param {object} parts
 * @param {AccountServices} parts.services
 * @param {CertificateSet} parts.certificates
 * @param {OpenAccounts} parts.openAccounts
 * @param {MaintenanceWorker} parts.maintenance
 * @param {PressureGuard} parts.pressure
 * @returns {Promise<Servers>}
 */
export async function createServers(
  { config, slot, clock, logger, closers, later },
  { services, certificates, openAccounts, maintenance, pressure }
) {
  const { directory, unlocker } = services
  const tls = tlsSettingsOf(certificates)
  const admits = () => pressure.admits()
  const imap = createImapServer({
    config,
    authenticate: async (attempt) => {
      const unlocked = await unlocker.unlock(attempt)
      const { cluster } = later
      return cluster === null ? openAccounts.acquire(unlocked) : cluster.acquire(unlocked, attempt)
    },
    tls,
    clock,
    steadyClock,
    logger,
    shareOf: (limit) => Math.ceil(limit / (later.cluster?.slots ?? 1)),
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
      later.cluster?.ring(accountId)
    }
  })
  const sasl = createAuthServer({ config, unlocker, logger })
  /** @type {AskAllWorkers | null} */
  const askAllWorkers =
    slot === null
      ? null
      : async (kind, argument, options = {}) =>
          (await later.cluster?.askAllWorkers(kind, argument, options)) ?? []
  const admin = await createAdmin({
    services,
    imap,
    openAccounts,
    maintenance,
    pressure,
    certificates,
    // All workers answer this at one port: one that is going must not call the host unready while others serve on.
    isReady: () => (later.isReady && !closers.isClosing) || later.cluster?.hasOthers === true,
    slot,
    askAllWorkers,
    countSilentWorkers: async () => (await later.cluster?.countSilent()) ?? 0
  })
  closers.add(() => admin.close())
  const optional = await createOptionalServers({ services, imap, openAccounts, tls, askAllWorkers })
  return { imap, lmtp, admin, sasl, ...optional }
}

/**
 * The servers that many hosts have switched off: their code is loaded only where they are on.
 *
 * @param {Parameters<typeof import('../user-page/create.js').createUserPage>[0]} parts
 * @returns {Promise<Pick<Servers, 'userPage' | 'discovery'>>} null for what is off
 */
async function createOptionalServers(parts) {
  const { tls, services } = parts
  const { config } = services
  const isOn = (/** @type {{ listen: string }} */ { listen }) => listen !== 'off'
  return {
    userPage: isOn(config.userPage)
      ? await (await import('../user-page/create.js')).createUserPage(parts)
      : null,
    discovery: isOn(config.discovery)
      ? await (await import('../discovery/server.js')).createDiscoveryServer({ config, tls })
      : null
  }
}
