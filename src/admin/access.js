/**
 * Who may do what over HTTP. Each route says which scopes open it, and whether it concerns the whole host. A token that is
 * bound to a tenant sees that tenant's things alone; another's are answered as if they were not there.
 */
import { recognizeApiToken } from '../accounts/api-tokens.js'
import { MailError } from '../errors.js'
import { clientOf } from '../support/client-address.js'
import { isLoopback } from '../support/loopback.js'
import { Refusal } from './problem.js'

/** @import { FastifyRequest } from 'fastify' */
/** @import { ApiScope, ApiToken, Account, DirectoryPort } from '../accounts/directory-port.js' */

/**
 * @typedef {object} RouteAccess - a route's `config.access`
 * @property {ApiScope[]} scopes - any one of them opens it; `all` always does
 * @property {boolean} [isHostWide] - true: the route concerns more than one tenant, and a tenant's token is refused
 */

/**
 * @param {ApiScope[]} scopes
 * @returns {{ access: RouteAccess }} a route's `config`
 */
export const openTo = (...scopes) => Object.freeze({ access: { scopes } })

/**
 * @param {ApiScope[]} scopes
 * @returns {{ access: RouteAccess }} the same, for tokens of no tenant
 */
export const openToHost = (...scopes) => Object.freeze({ access: { scopes, isHostWide: true } })

/**
 * @param {FastifyRequest} request
 * @returns {boolean} whether it came from this machine: loopback or a unix socket
 */
export function isLocal(request) {
  const address = clientOf(request.raw.socket)
  return address === null || isLoopback(address)
}

/**
 * Tokens and passwords cross no network in the clear.
 *
 * @param {FastifyRequest} request
 * @throws {Refusal} 403
 */
function requirePrivacy(request) {
  const isTls = 'encrypted' in request.raw.socket && request.raw.socket.encrypted === true
  if (isTls || isLocal(request)) return
  throw new Refusal(403, 'Tokens are taken over TLS, from this machine, or through the unix socket')
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="letterlock"' }

/**
 * @param {object} input
 * @param {FastifyRequest} input.request
 * @param {RouteAccess} input.access
 * @param {{ directory: DirectoryPort, clock: import('../support/clock.js').Clock }} input.services
 * @returns {Promise<ApiToken>}
 * @throws {Refusal} 401, 403
 */
export async function requireToken({ request, access, services }) {
  requirePrivacy(request)
  const text = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (text === undefined) throw new Refusal(401, 'A bearer token is needed', CHALLENGE)
  const token = await recognizeApiToken({ services, text })
  if (!token) {
    throw new Refusal(401, 'The token is not known, or not any more', {
      'www-authenticate': `${CHALLENGE['www-authenticate']}, error="invalid_token"`
    })
  }
  const isInScope = token.scopes.some((scope) => scope === 'all' || access.scopes.includes(scope))
  if (!isInScope) {
    throw new Refusal(403, 'The token’s scopes do not reach that far', {
      'www-authenticate': `${CHALLENGE['www-authenticate']}, error="insufficient_scope"`
    })
  }
  if (access.isHostWide && token.tenant !== null) {
    throw new Refusal(403, 'That is of the whole host, and the token of one tenant')
  }
  return token
}

/**
 * @param {FastifyRequest} request - that has passed `requireToken`
 * @returns {ApiToken}
 */
export function tokenOf(request) {
  if (!request.token) throw new Error('the route asks for no token')
  return request.token
}

/**
 * @param {FastifyRequest} request
 * @param {string | undefined} wanted - the request's own filter
 * @returns {string | null} the tenant that a list is confined to; null for none
 * @throws {MailError} TENANT_NOT_FOUND for a tenant that the token does not reach
 */
export function tenantFilter(request, wanted) {
  const { tenant } = tokenOf(request)
  if (tenant !== null && wanted !== undefined && wanted !== tenant) {
    throw new MailError('TENANT_NOT_FOUND')
  }
  return tenant ?? wanted ?? null
}

/**
 * To be called where a list turns out empty: a mistyped tenant would pass for one that has nothing.
 *
 * @param {DirectoryPort} directory
 * @param {string | undefined} wanted - the request's own filter
 * @throws {MailError} TENANT_NOT_FOUND
 */
export async function requireTenantIfNamed(directory, wanted) {
  if (wanted !== undefined && !(await directory.hasTenant(wanted)))
    throw new MailError('TENANT_NOT_FOUND')
}

/**
 * @param {FastifyRequest} request
 * @param {DirectoryPort} directory
 * @param {string} accountId
 * @returns {Promise<Account>}
 * @throws {MailError} ACCOUNT_NOT_FOUND, also for another tenant's
 */
export async function requireVisibleAccount(request, directory, accountId) {
  const { tenant } = tokenOf(request)
  const account = await directory.findAccount(accountId)
  if (!account || (tenant !== null && account.tenant !== tenant)) {
    throw new MailError('ACCOUNT_NOT_FOUND')
  }
  return account
}

/**
 * A tenant's token may name addresses in its own domains only: nobody takes a name in another tenant's domain.
 *
 * @param {FastifyRequest} request
 * @param {DirectoryPort} directory
 * @param {string} domain - canonical
 * @throws {Refusal} 403
 */
export async function requireOwnDomain(request, directory, domain) {
  const { tenant } = tokenOf(request)
  if (tenant === null) return
  if ((await directory.findTenantOfDomain(domain)) === tenant) return
  throw new Refusal(403, 'The domain is not one of the token’s tenant')
}
