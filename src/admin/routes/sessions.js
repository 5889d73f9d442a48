/**
 * /v1/sessions: who is logged in now. It does not tell what a session does, nor which mailbox it has open.
 */
import { searchForms } from '../../accounts/address.js'
import { openTo, requireTenantIfNamed, tenantFilter } from '../access.js'
import { Refusal } from '../problem.js'
import { COUNT, LIMIT, NOTHING, SESSION, TENANT_ID, answers, input, listOf } from '../schemas.js'

/** @import { FastifyInstance, FastifyRequest } from 'fastify' */
/** @import { AdminParts } from '../server.js' */

const tags = ['sessions']

/** @typedef {{ search?: string, tenant?: string, limit: number, offset: number }} ListQuery */

/**
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addSessionRoutes(app, { services, sessions }) {
  const { directory } = services
  const visible = async (
    /** @type {FastifyRequest} */ request,
    /** @type {string} */ wanted = ''
  ) => {
    const tenant = tenantFilter(request, wanted === '' ? undefined : wanted)
    const all = await sessions.list()
    if (tenant === null) return all
    const states = await directory.accountStates([
      ...new Set(all.map(({ accountId }) => accountId))
    ])
    return all.filter(({ accountId }) => states.get(accountId)?.tenant === tenant)
  }

  app.get('/sessions', {
    config: openTo('read', 'accounts'),
    schema: {
      operationId: 'listSessions',
      summary: 'A page of the sessions that are logged in, oldest first',
      tags,
      querystring: input({
        search: {
          type: 'string',
          maxLength: 320,
          description: 'Part of the account’s address, or of the client’s'
        },
        tenant: TENANT_ID,
        limit: LIMIT,
        offset: { ...COUNT, default: 0 }
      }),
      response: answers({ 200: listOf('sessions', SESSION, { total: COUNT }) })
    },
    handler: async (request) => {
      const { search = '', tenant, limit, offset } = /** @type {ListQuery} */ (request.query)
      const parts = searchForms(search)
      const found = (await visible(request, tenant)).filter(({ address, remoteAddress }) =>
        parts.some((part) => address.includes(part) || remoteAddress.includes(part))
      )
      if (found.length === 0) await requireTenantIfNamed(directory, tenant)
      return { total: found.length, sessions: found.slice(offset, offset + limit) }
    }
  })

  app.delete('/sessions/:sessionId', {
    config: openTo('accounts'),
    schema: {
      operationId: 'endSession',
      summary: 'Disconnect a session after its running command, or after a minute',
      tags,
      params: input({ sessionId: { type: 'string', minLength: 1, maxLength: 64 } }, ['sessionId']),
      response: answers({ 204: NOTHING })
    },
    handler: async (request, reply) => {
      const { sessionId } = /** @type {{ sessionId: string }} */ (request.params)
      const session = (await visible(request)).find(({ id }) => id === sessionId)
      if (!session || !(await sessions.end(session.id))) {
        throw new Refusal(404, 'There is no such session')
      }
      request.auditAccountId = session.accountId
      return reply.code(204).send()
    }
  })
}
