/**
 * What belongs to one account: its aliases, its credentials, its sessions.
 */
import { parseAddress } from '../../accounts/address.js'
import { revokeAppPassword } from '../../accounts/app-passwords.js'
import { openTo, requireOwnDomain, requireVisibleAccount } from '../access.js'
import { Refusal } from '../problem.js'
import {
  ACCOUNT_ID,
  ADDRESS,
  CREDENTIAL,
  NOTHING,
  always,
  answers,
  input,
  listOf
} from '../schemas.js'

/** @import { FastifyInstance, FastifyRequest } from 'fastify' */
/** @import { AdminParts } from '../server.js' */

const READ = openTo('read', 'accounts')
const WRITE = openTo('accounts')
const PARAMS = input({ accountId: ACCOUNT_ID }, ['accountId'])
const ALIASES = listOf('aliases', { type: 'string' })

/**
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addAccountPartRoutes(app, { services, sessions }) {
  const { directory, config } = services
  const accountOf = async (/** @type {FastifyRequest} */ request) => {
    const { accountId } = /** @type {{ accountId: string }} */ (request.params)
    const account = await requireVisibleAccount(request, directory, accountId)
    request.auditAccountId = account.id
    return account
  }

  app.get('/accounts/:accountId/aliases', {
    config: READ,
    schema: {
      operationId: 'listAliases',
      summary: 'Other addresses of an account',
      tags: ['aliases'],
      params: PARAMS,
      response: answers({ 200: ALIASES })
    },
    handler: async (request) => {
      const { id } = await accountOf(request)
      return { aliases: await directory.listAliases(id) }
    }
  })

  app.post('/accounts/:accountId/aliases', {
    config: WRITE,
    schema: {
      operationId: 'addAlias',
      summary: 'Add an address, for mail and for logging in',
      tags: ['aliases'],
      params: PARAMS,
      body: input({ address: ADDRESS }, ['address']),
      response: answers({ 201: ALIASES })
    },
    handler: async (request, reply) => {
      const { id } = await accountOf(request)
      const { address } = /** @type {{ address: string }} */ (request.body)
      const alias = parseAddress(address, { defaultDomain: config.defaultDomain })
      await requireOwnDomain(request, directory, alias.domain)
      await directory.addAlias(id, alias.address)
      directory.audit({ action: 'alias-add', accountId: id })
      return reply.code(201).send({ aliases: await directory.listAliases(id) })
    }
  })

  app.delete('/accounts/:accountId/aliases/:alias', {
    config: WRITE,
    schema: {
      operationId: 'removeAlias',
      summary: 'Remove an alias; the primary address stays',
      tags: ['aliases'],
      params: input({ accountId: ACCOUNT_ID, alias: ADDRESS }, ['accountId', 'alias']),
      response: answers({ 204: NOTHING })
    },
    handler: async (request, reply) => {
      const { id } = await accountOf(request)
      const { alias } = /** @type {{ alias: string }} */ (request.params)
      if (!(await directory.removeAlias(id, alias))) {
        throw new Refusal(404, 'The account has no such alias')
      }
      directory.audit({ action: 'alias-remove', accountId: id })
      return reply.code(204).send()
    }
  })

  app.get('/accounts/:accountId/credentials', {
    config: READ,
    schema: {
      operationId: 'listCredentials',
      summary: 'What opens an account: kinds, labels and times, never a secret',
      tags: ['credentials'],
      params: PARAMS,
      response: answers({ 200: listOf('credentials', CREDENTIAL) })
    },
    handler: async (request) => {
      const { id } = await accountOf(request)
      return { credentials: await directory.listCredentials(id) }
    }
  })

  app.delete('/accounts/:accountId/credentials/:credentialId', {
    config: WRITE,
    schema: {
      operationId: 'revokeAppPassword',
      summary: 'Revoke an app password; its sessions end within seconds',
      tags: ['credentials'],
      params: input({ accountId: ACCOUNT_ID, credentialId: ACCOUNT_ID }, [
        'accountId',
        'credentialId'
      ]),
      response: answers({ 204: NOTHING })
    },
    handler: async (request, reply) => {
      const account = await accountOf(request)
      const { credentialId } = /** @type {{ credentialId: string }} */ (request.params)
      await revokeAppPassword({ services, account, credentialId })
      return reply.code(204).send()
    }
  })

  app.delete('/accounts/:accountId/sessions', {
    config: WRITE,
    schema: {
      operationId: 'endAccountSessions',
      summary:
        'Disconnect all sessions of an account, each after its running command, or after a minute',
      tags: ['sessions'],
      params: PARAMS,
      response: answers({ 200: always({ ended: { type: 'integer' } }) })
    },
    handler: async (request) => {
      const { id } = await accountOf(request)
      const own = (await sessions.list()).filter(({ accountId }) => accountId === id)
      for (const session of own) await sessions.end(session.id)
      return { ended: own.length }
    }
  })
}
