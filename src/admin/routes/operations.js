/**
 * What the host does by itself: maintenance, backups, the audit log.
 */
import { AUDIT_ACTIONS } from '../../accounts/audit-actions.js'
import { MailError } from '../../errors.js'
import {
  openTo,
  requireTenantIfNamed,
  requireVisibleAccount,
  tenantFilter,
  tokenOf
} from '../access.js'
import {
  ACCOUNT_ID,
  AUDIT_EVENT,
  BACKUP,
  BEFORE,
  COUNT,
  LIMIT,
  MAINTENANCE_RUN,
  TENANT_ID,
  TOKEN,
  always,
  answers,
  input,
  listOf
} from '../schemas.js'

/** @import { FastifyInstance } from 'fastify' */
/** @import { AdminParts } from '../server.js' */

/** @typedef {{ accountId?: string, tenant?: string, before?: number, action?: string, since?: number, until?: number, limit: number }} ListQuery */

/**
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addOperationRoutes(app, { services, state }) {
  const { directory } = services

  app.get('/token', {
    config: openTo('read', 'accounts', 'backups'),
    schema: {
      operationId: 'getToken',
      summary: 'What the token that asks may do',
      tags: ['token'],
      response: answers({ 200: TOKEN })
    },
    handler: async (request) => tokenOf(request)
  })

  app.get('/maintenance', {
    config: openTo('read', 'accounts', 'backups'),
    schema: {
      operationId: 'listMaintenanceRuns',
      summary: 'What maintenance has done, newest first',
      tags: ['maintenance'],
      querystring: input({
        accountId: ACCOUNT_ID,
        tenant: TENANT_ID,
        before: BEFORE,
        limit: LIMIT
      }),
      response: answers({ 200: listOf('runs', MAINTENANCE_RUN) })
    },
    handler: async (request) => {
      const { accountId, tenant, before, limit } = /** @type {ListQuery} */ (request.query)
      const runs = await directory.pageMaintenanceRuns({
        tenant: tenantFilter(request, tenant),
        ...(accountId !== undefined && { accountId }),
        ...(before !== undefined && { beforeId: before }),
        limit
      })
      if (runs.length === 0) await requireTenantIfNamed(directory, tenant)
      return { runs }
    }
  })

  app.post('/maintenance', {
    config: openTo('accounts'),
    schema: {
      operationId: 'requestMaintenance',
      summary:
        'Ask for every job on one account, or on all that the token reaches, at the next occasion',
      description: 'A locked mailbox is looked after when its owner has logged in.',
      tags: ['maintenance'],
      body: input({ accountId: ACCOUNT_ID }),
      response: answers({ 202: always({ accounts: COUNT }) })
    },
    handler: async (request, reply) => {
      const { accountId } = /** @type {{ accountId?: string }} */ (request.body)
      if (accountId !== undefined) {
        const { id } = await requireVisibleAccount(request, directory, accountId)
        request.auditAccountId = id
        return reply.code(202).send({ accounts: await directory.requestMaintenance(id) })
      }
      const { tenant } = tokenOf(request)
      const filter = tenant === null ? {} : { tenant }
      return reply.code(202).send({ accounts: await directory.requestMaintenance(null, filter) })
    }
  })

  app.get('/backups', {
    config: openTo('read', 'backups'),
    schema: {
      operationId: 'listBackups',
      summary: 'The backups that are kept, newest first',
      description: 'A tenant’s token is told when they were made, and nothing of their size.',
      tags: ['backups'],
      response: answers({
        200: listOf('backups', BACKUP, { isSetUp: { type: 'boolean' } })
      })
    },
    handler: async (request) => {
      const { isSetUp, generations, problem } = await state.listBackups({ isRecent: true })
      if (problem !== null) throw new MailError('BACKUP_UNREACHABLE', { detail: problem })
      const isTenant = tokenOf(request).tenant !== null
      return {
        isSetUp,
        backups: generations.map(({ name, startedAtMs, ...figures }) => ({
          name,
          startedAtMs,
          ...Object.fromEntries(
            Object.entries(figures).map(([key, value]) => [key, isTenant ? null : value])
          )
        }))
      }
    }
  })

  app.get('/audit', {
    config: openTo('read'),
    schema: {
      operationId: 'listAudit',
      summary: 'Security events, newest first',
      tags: ['audit'],
      querystring: input({
        accountId: ACCOUNT_ID,
        tenant: TENANT_ID,
        action: { type: 'string', enum: AUDIT_ACTIONS },
        since: { ...COUNT, description: 'From this time on, ms' },
        until: { ...COUNT, description: 'Before this time, ms' },
        before: BEFORE,
        limit: LIMIT
      }),
      response: answers({ 200: listOf('events', AUDIT_EVENT) })
    },
    handler: async (request) => {
      const query = /** @type {ListQuery} */ (request.query)
      // Events that the disk does not take are logged and tried again later; those before them can be read.
      await directory.flush().catch(() => {})
      const rows = await directory.pageAudit({
        tenant: tenantFilter(request, query.tenant),
        isPresentTenant: tokenOf(request).tenant !== null,
        ...(query.accountId !== undefined && { accountId: query.accountId }),
        ...(query.action !== undefined && { action: query.action }),
        ...(query.since !== undefined && { sinceMs: query.since }),
        ...(query.until !== undefined && { untilMs: query.until }),
        ...(query.before !== undefined && { beforeId: query.before }),
        limit: query.limit
      })
      const { tenant } = query
      if (rows.length === 0 && tenant !== undefined) {
        // A tenant that was deleted is still in the log, though perhaps not on this page.
        const isLogged = (await directory.pageAudit({ tenant, limit: 1 })).length > 0
        if (!isLogged) await requireTenantIfNamed(directory, tenant)
      }
      return { events: rows.map((row) => ({ ...row, detail: row.detail ?? {} })) }
    }
  })
}
