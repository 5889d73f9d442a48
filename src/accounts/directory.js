/**
 * The directory over directory.db: the first implementation of `DirectoryPort`.
 *
 * A commit here is durable (synchronous=FULL). A method that removes wrapped keys has also removed them from the
 * write-ahead log when it resolves.
 */
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DirectoryAccounts } from './directory-accounts.js'
import { DirectoryBatch } from './directory-batch.js'
import { DirectoryConnection } from './directory-connection.js'
import { DirectoryKeys } from './directory-keys.js'
import { DirectoryLists } from './directory-lists.js'
import { DirectoryMaintenance } from './directory-maintenance.js'
import { DirectoryRemovals } from './directory-removals.js'
import { DirectoryRestores } from './directory-restores.js'
import { DirectoryTenants } from './directory-tenants.js'
import { DirectoryTokens } from './directory-tokens.js'

export { isMigrated } from './directory-connection.js'

/** @typedef {import('./directory-port.js').DirectoryPort} DirectoryPort */

/**
 * @param {object} options
 * @param {string} options.path - of directory.db; made where it is missing
 * @param {string} [options.dataFolder] - that mailbox folders are relative to; the file's folder unless told
 * @param {string} [options.defaultDomain] - of names without a domain; they are no addresses without it
 * @param {import('../support/clock.js').Clock} options.clock
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @param {import('./audit-limits.js').AuditLimits} [options.audit] - the settings
 * @returns {DirectoryPort}
 * @throws {import('../errors.js').MailError} FILE_TOO_NEW, SCHEMA_MISMATCH, DIRECTORY_DAMAGED, BUSY
 */
export function openDirectory({
  path,
  dataFolder = dirname(path),
  defaultDomain,
  clock,
  logger,
  audit
}) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const connection = new DirectoryConnection({ path, clock, logger })
  const place = { connection, dataFolder: resolve(dataFolder) }
  const accounts = new DirectoryAccounts({ ...place, defaultDomain })
  const removals = new DirectoryRemovals(place)
  const keys = new DirectoryKeys(connection)
  const restores = new DirectoryRestores(connection)
  const batch = new DirectoryBatch(place, audit)
  const maintenance = new DirectoryMaintenance(connection)
  const tenants = new DirectoryTenants(connection)
  const tokens = new DirectoryTokens(connection)
  const lists = new DirectoryLists(connection)
  return {
    findByAddress: (address) => accounts.findByAddress(address),
    findAccount: (accountId) => accounts.findAccount(accountId),
    listAccounts: (filter) => accounts.listAccounts(filter),
    listDomains: () => accounts.listDomains(),
    createAccount: (account) => accounts.createAccount(account),
    deleteAccount: (accountId) => accounts.deleteAccount(accountId),
    updateAccount: (accountId, change) => accounts.updateAccount(accountId, change),
    recordCipher: (accountId, found) => accounts.recordCipher(accountId, found),
    addAlias: (accountId, address) => accounts.addAlias(accountId, address),
    removeAlias: (accountId, address) => accounts.removeAlias(accountId, address),
    listAliases: (accountId) => accounts.listAliases(accountId),
    replaceMailbox: (accountId, mailbox) => accounts.replaceMailbox(accountId, mailbox),
    listRemovals: () => removals.listRemovals(),
    listFolders: () => removals.listFolders(),
    finishRemoval: (folder) => removals.finishRemoval(folder),
    planFolder: (folder) => removals.planFolder(folder),

    findCredential: (credentialId) => keys.findCredential(credentialId),
    findSingleCredential: (accountId, kind) => keys.findSingleCredential(accountId, kind),
    findAppPassword: (accountId, lookup) => keys.findAppPassword(accountId, lookup),
    listCredentials: (accountId) => keys.listCredentials(accountId),
    listPepperIds: () => keys.listPepperIds(),
    insertCredential: (credential, proved, limit) =>
      keys.insertCredential(credential, proved, limit),
    replaceCredentials: (credentials, replaced) => keys.replaceCredentials(credentials, replaced),
    deleteCredential: (credentialId) => keys.deleteCredential(credentialId),
    listSealIdentities: (accountId) => keys.listSealIdentities(accountId),
    replaceSealKey: (accountId, change) => keys.replaceSealKey(accountId, change),
    beginRekey: (rekey) => keys.beginRekey(rekey),
    findRekey: (accountId) => keys.findRekey(accountId),
    cancelRekey: (accountId, nextKeyEpoch) => keys.cancelRekey(accountId, nextKeyEpoch),
    finishRekey: (accountId, nextKeyEpoch) => keys.finishRekey(accountId, nextKeyEpoch),

    findRestore: (accountId) => restores.findRestore(accountId),
    beginRestore: (restore) => restores.beginRestore(restore),
    advanceRestore: (accountId, change) => restores.advanceRestore(accountId, change),
    findLifts: (accountId) => restores.findLifts(accountId),
    noteLifted: (accountId, lifts) => restores.noteLifted(accountId, lifts),
    listDeletions: () => restores.listDeletions(),
    recordMaintenance: (entry) => batch.recordMaintenance(entry),
    findMaintenance: async (accountId) => {
      // Results of the job's last run may still wait to be written.
      await batch.flush()
      return await maintenance.findMaintenance(accountId)
    },
    listMaintenanceRequests: (accountIds) => maintenance.listMaintenanceRequests(accountIds),
    requestMaintenance: (accountId, filter) => maintenance.requestMaintenance(accountId, filter),
    finishMaintenanceRequest: (accountId, requestedAtMs) =>
      maintenance.finishMaintenanceRequest(accountId, requestedAtMs),
    listMaintenance: (filter) => maintenance.listMaintenance(filter),
    listMaintenanceRuns: (filter) => maintenance.listMaintenanceRuns(filter),
    listMaintenanceFailures: (limit) => maintenance.listMaintenanceFailures(limit),
    listDamaged: (limit) => maintenance.listDamaged(limit),

    listTenants: () => tenants.listTenants(),
    findTenant: (id) => tenants.findTenant(id),
    hasTenant: (id) => tenants.hasTenant(id),
    createTenant: async (tenant) => {
      // Events that wait to be written may belong to another tenant, which had the id before.
      await batch.flush()
      await tenants.createTenant(tenant)
    },
    updateTenant: (id, change) => tenants.updateTenant(id, change),
    deleteTenant: (id) => tenants.deleteTenant(id),
    assignDomain: (domain, tenantId) => tenants.assignDomain(domain, tenantId),
    findTenantOfDomain: (domain) => tenants.findTenantOfDomain(domain),
    tenantRoom: (id) => tenants.tenantRoom(id),
    pageAccounts: (query) => lists.pageAccounts(query),
    accountStates: (accountIds) => lists.accountStates(accountIds),
    credentialStates: (credentialIds) => lists.credentialStates(credentialIds),
    pageFolders: (page) => lists.pageFolders(page),
    totals: () => tenants.totals(),
    pageAudit: (query) => lists.pageAudit(query),
    pageMaintenanceRuns: (query) => lists.pageMaintenanceRuns(query),
    insertApiToken: (token) => tokens.insertApiToken(token),
    findApiToken: (hash) => tokens.findApiToken(hash),
    listApiTokens: () => tokens.listApiTokens(),
    deleteApiToken: (id) => tokens.deleteApiToken(id),
    recordTokenUse: (id) => batch.recordTokenUse(id),
    quickCheck: () => connection.quickCheck(),

    recordUse: (credentialId) => batch.recordUse(credentialId),
    recordUsage: (accountId, usage) => batch.recordUsage(accountId, usage),
    audit: (event) => batch.audit(event),
    flush: () => batch.flush(),
    close: async () => {
      try {
        await batch.close()
      } catch (err) {
        // All that was committed before stands: the caller must not take this for a failure.
        logger.error(
          { err },
          'directory: what was still to be written is lost: audit events, last uses, usage'
        )
      } finally {
        connection.close()
      }
    }
  }
}
