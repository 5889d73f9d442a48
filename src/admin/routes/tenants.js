/**
 * /v1/tenants: who the domains and accounts belong to, and how much they may hold together.
 */
import { normalizeDomain } from '../../accounts/address.js'
import { MailError } from '../../errors.js'
import { openTo, openToHost, tenantFilter } from '../access.js'
import { COUNT, LABEL, NOTHING, TENANT, TENANT_ID, answers, input, listOf } from '../schemas.js'

/** @import { FastifyInstance, FastifyRequest } from 'fastify' */
/** @import { AdminParts } from '../server.js' */

const PARAMS = input({ tenantId: TENANT_ID }, ['tenantId'])
const READ = openTo('read', 'accounts')
const WRITE = openToHost('all')
const tags = ['tenants']

/** @typedef {{ tenantId: string }} Params */
/** @typedef {{ label?: string, quotaBytes?: number, maxAccounts?: number }} Change */

/**
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addTenantRoutes(app, { services }) {
  const { directory } = services
  const find = async (/** @type {string} */ id) => {
    const tenant = await directory.findTenant(id)
    // Also where somebody else has deleted it since this request changed it.
    if (!tenant) throw new MailError('TENANT_NOT_FOUND')
    return tenant
  }
  const requireTenant = async (/** @type {FastifyRequest} */ request) => {
    const { tenantId } = /** @type {Params} */ (request.params)
    tenantFilter(request, tenantId)
    return await find(tenantId)
  }

  app.get('/tenants', {
    config: READ,
    schema: {
      operationId: 'listTenants',
      summary: 'All tenants, or the token’s own',
      tags,
      response: answers({ 200: listOf('tenants', TENANT) })
    },
    handler: async (request) => {
      const own = tenantFilter(request, undefined)
      if (own === null) return { tenants: await directory.listTenants() }
      return { tenants: [await directory.findTenant(own)].filter((tenant) => tenant !== null) }
    }
  })

  app.post('/tenants', {
    config: WRITE,
    schema: {
      operationId: 'createTenant',
      summary: 'Make a tenant; domains are given to it afterwards',
      tags,
      body: input({ id: TENANT_ID, label: LABEL, quotaBytes: COUNT, maxAccounts: COUNT }, ['id']),
      response: answers({ 201: TENANT })
    },
    handler: async (request, reply) => {
      const {
        id,
        label = '',
        quotaBytes = 0,
        maxAccounts = 0
      } = /** @type {{ id: string } & Change} */ (request.body)
      await directory.createTenant({ id, label, quotaBytes, maxAccounts })
      directory.audit({ action: 'tenant-create', tenant: id })
      return reply.code(201).send(await find(id))
    }
  })

  app.get('/tenants/:tenantId', {
    config: READ,
    schema: {
      operationId: 'getTenant',
      summary: 'One tenant',
      tags,
      params: PARAMS,
      response: answers({ 200: TENANT })
    },
    handler: requireTenant
  })

  app.patch('/tenants/:tenantId', {
    config: WRITE,
    schema: {
      operationId: 'updateTenant',
      summary: 'Change label and limits',
      tags,
      params: PARAMS,
      body: input({ label: LABEL, quotaBytes: COUNT, maxAccounts: COUNT }),
      response: answers({ 200: TENANT })
    },
    handler: async (request) => {
      const { id } = await requireTenant(request)
      const change = /** @type {Change} */ (request.body)
      await directory.updateTenant(id, change)
      directory.audit({ action: 'tenant-set', tenant: id, detail: { ...change } })
      return await find(id)
    }
  })

  app.delete('/tenants/:tenantId', {
    config: WRITE,
    schema: {
      operationId: 'deleteTenant',
      summary: 'Remove a tenant that has neither domains nor accounts; its tokens go with it',
      tags,
      params: PARAMS,
      response: answers({ 204: NOTHING })
    },
    handler: async (request, reply) => {
      const { tenantId } = /** @type {Params} */ (request.params)
      await directory.deleteTenant(tenantId)
      directory.audit({ action: 'tenant-delete', detail: { tenant: tenantId } })
      return reply.code(204).send()
    }
  })

  app.put('/tenants/:tenantId/domains/:domain', {
    config: WRITE,
    schema: {
      operationId: 'assignDomain',
      summary: 'Give a domain to a tenant, with the accounts in it',
      tags,
      params: input(
        { tenantId: TENANT_ID, domain: { type: 'string', minLength: 1, maxLength: 253 } },
        ['tenantId', 'domain']
      ),
      response: answers({ 200: TENANT })
    },
    handler: async (request) => {
      const { id } = await requireTenant(request)
      const domain = normalizeDomain(/** @type {{ domain: string }} */ (request.params).domain)
      await directory.assignDomain(domain, id)
      directory.audit({ action: 'domain-assign', tenant: id, detail: { domain } })
      return await find(id)
    }
  })
}
