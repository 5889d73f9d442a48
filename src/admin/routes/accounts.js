/**
 * /v1/accounts: made, listed, changed and deleted. No route has a way to mail or to a key: the only secrets that pass are
 * a new account's password on its way in and its recovery code, once, on its way out.
 */
import { parseAddress } from '../../accounts/address.js'
import { provisionAccount } from '../../accounts/provision.js'
import { deleteAccount } from '../../accounts/remove-account.js'
import { MailError } from '../../errors.js'
import {
  openTo,
  requireOwnDomain,
  requireTenantIfNamed,
  requireVisibleAccount,
  tenantFilter
} from '../access.js'
import { Refusal } from '../problem.js'
import {
  ACCOUNT,
  ACCOUNT_ID,
  ADDRESS,
  COUNT,
  LIMIT,
  NOTHING,
  TENANT_ID,
  always,
  answers,
  input,
  listOf
} from '../schemas.js'

/** @import { FastifyInstance, FastifyRequest } from 'fastify' */
/** @import { AdminParts } from '../server.js' */
/** @import { AccountPageQuery } from '../../accounts/directory-port.js' */

const READ = openTo('read', 'accounts')
const WRITE = openTo('accounts')
const PARAMS = input({ accountId: ACCOUNT_ID }, ['accountId'])
const SORTS = [
  'address',
  'tenant',
  'createdAtMs',
  'usedBytes',
  'usedMessages',
  'fileBytes',
  'fragmentation'
]
const tags = ['accounts']

/**
 * @typedef {{ search?: string, tenant?: string, sort: AccountPageQuery['sort'], order: 'asc' | 'desc', after?: string, limit: number, offset: number }} ListQuery
 * @typedef {{ address: string, password: string, quotaBytes?: number, quotaMessages?: number, tenant?: string }} NewAccount
 * @typedef {{ isEnabled?: boolean, quotaBytes?: number, quotaMessages?: number, tenant?: string }} Change
 */

/** @param {FastifyRequest} request */
const idOf = (request) => /** @type {{ accountId: string }} */ (request.params).accountId

/**
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addAccountRoutes(app, { services }) {
  const { directory } = services
  const summarize = async (/** @type {string} */ accountId) => {
    const { accounts } = await directory.pageAccounts({
      accountId,
      sort: 'address',
      isDescending: false,
      limit: 1,
      offset: 0
    })
    const [account] = accounts
    // Somebody else may have deleted it since this request looked.
    if (!account) throw new MailError('ACCOUNT_NOT_FOUND')
    return account
  }

  app.get('/accounts', {
    config: READ,
    schema: {
      operationId: 'listAccounts',
      summary: 'A page of the accounts',
      tags,
      querystring: input({
        search: { type: 'string', maxLength: 320, description: 'Part of the address' },
        tenant: TENANT_ID,
        sort: { type: 'string', enum: SORTS, default: 'address' },
        order: { type: 'string', enum: ['asc', 'desc'], default: 'asc' },
        limit: LIMIT,
        after: {
          ...ADDRESS,
          description:
            'Only what comes after this address, the last one of the page before; in the order of addresses alone. So none is missed where others are deleted meanwhile'
        },
        offset: { ...COUNT, default: 0 }
      }),
      response: answers({ 200: listOf('accounts', ACCOUNT, { total: COUNT }) })
    },
    handler: async (request) => {
      const query = /** @type {ListQuery} */ (request.query)
      if (query.after !== undefined && (query.sort !== 'address' || query.order !== 'asc')) {
        throw new Refusal(400, '`after` goes with the order of addresses alone')
      }
      const page = await directory.pageAccounts({
        tenant: tenantFilter(request, query.tenant),
        ...(query.search !== undefined && { search: query.search }),
        ...(query.after !== undefined && { afterAddress: query.after }),
        sort: query.sort,
        isDescending: query.order === 'desc',
        limit: query.limit,
        offset: query.offset
      })
      if (page.total === 0) await requireTenantIfNamed(directory, query.tenant)
      return page
    }
  })

  app.post('/accounts', {
    config: WRITE,
    schema: {
      operationId: 'createAccount',
      summary: 'Make an account; its recovery code is in the answer, this once',
      tags,
      body: input(
        {
          address: ADDRESS,
          password: { type: 'string', minLength: 1, maxLength: 1024, format: 'password' },
          quotaBytes: COUNT,
          quotaMessages: COUNT,
          tenant: TENANT_ID
        },
        ['address', 'password']
      ),
      response: answers({
        201: always({
          account: ACCOUNT,
          recoveryCode: {
            type: 'string',
            description: 'The only way to the mail if the password is lost; kept nowhere here'
          }
        })
      })
    },
    handler: async (request, reply) => {
      const { address, password, tenant, ...quota } = /** @type {NewAccount} */ (request.body)
      const { domain } = parseAddress(address, { defaultDomain: services.config.defaultDomain })
      tenantFilter(request, tenant)
      await requireOwnDomain(request, directory, domain)
      const secret = Buffer.from(password)
      try {
        const { account, recoveryCode, masterKey } = await provisionAccount({
          services,
          address,
          password: secret,
          ...quota,
          ...(tenant !== undefined && { tenant })
        })
        masterKey.dispose()
        request.auditAccountId = account.id
        return await reply.code(201).send({ account: await summarize(account.id), recoveryCode })
      } finally {
        secret.fill(0)
      }
    }
  })

  app.get('/accounts/:accountId', {
    config: READ,
    schema: {
      operationId: 'getAccount',
      summary: 'One account',
      tags,
      params: PARAMS,
      response: answers({ 200: ACCOUNT })
    },
    handler: async (request) => {
      const { id } = await requireVisibleAccount(request, directory, idOf(request))
      return await summarize(id)
    }
  })

  app.patch('/accounts/:accountId', {
    config: WRITE,
    schema: {
      operationId: 'updateAccount',
      summary: 'Change quotas, enable or disable, give to another tenant',
      description:
        'A disabled account takes neither logins nor mail, and its sessions end within seconds; nothing is deleted.',
      tags,
      params: PARAMS,
      body: input({
        isEnabled: { type: 'boolean' },
        quotaBytes: COUNT,
        quotaMessages: COUNT,
        tenant: TENANT_ID
      }),
      response: answers({ 200: ACCOUNT })
    },
    handler: async (request) => {
      const change = /** @type {Change} */ (request.body)
      const { id } = await requireVisibleAccount(request, directory, idOf(request))
      tenantFilter(request, change.tenant)
      request.auditAccountId = id
      await directory.updateAccount(id, change)
      directory.audit({ action: 'account-set', accountId: id, detail: { ...change } })
      return await summarize(id)
    }
  })

  app.delete('/accounts/:accountId', {
    config: WRITE,
    schema: {
      operationId: 'deleteAccount',
      summary:
        'Destroy an account’s keys, then its files; backups keep them for backup.eraseDeletedAfterDays',
      tags,
      params: PARAMS,
      querystring: input({ confirm: { ...ADDRESS, description: 'The account’s address, again' } }, [
        'confirm'
      ]),
      response: answers({ 204: NOTHING })
    },
    handler: async (request, reply) => {
      const account = await requireVisibleAccount(request, directory, idOf(request))
      const { confirm } = /** @type {{ confirm: string }} */ (request.query)
      if (parseAddress(confirm).address !== account.address) {
        throw new Refusal(422, '`confirm` is not the account’s address')
      }
      request.auditAccountId = account.id
      await deleteAccount({ services, account })
      return reply.code(204).send()
    }
  })
}
