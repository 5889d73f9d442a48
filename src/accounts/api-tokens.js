/**
 * Bearer tokens of the admin interface (RFC 6750), made on the command line and shown once:
 *
 *   lltok_ + 43 characters of base64url = 256 random bits
 *
 * Only their SHA-256 is stored: with that many random bits a slow hash would protect nothing more, and would delay each
 * request.
 */
import { createHash, randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { newId } from './credential.js'
import { requireLabel } from './label.js'

/**
 * @typedef {import('./directory-port.js').ApiToken} ApiToken
 * @typedef {import('./directory-port.js').ApiScope} ApiScope
 * @typedef {import('./directory-port.js').DirectoryPort} DirectoryPort
 */

/** @type {readonly ApiScope[]} */
export const API_SCOPES = Object.freeze(['read', 'accounts', 'backups', 'all'])

const PREFIX = 'lltok_'
const SECRET_BYTES = 32
const SHAPE = /^lltok_[A-Za-z0-9_-]{43}$/

/** @param {string} text */
const hashOf = (text) => createHash('sha256').update(text).digest()

/**
 * @param {object} input
 * @param {{ directory: DirectoryPort, clock: import('../support/clock.js').Clock }} input.services
 * @param {string} input.label
 * @param {ApiScope[]} input.scopes - one at least
 * @param {string | null} input.tenant - null: it reaches every tenant
 * @param {number | null} input.expiresAtMs - null: never
 * @returns {Promise<{ token: ApiToken, text: string }>} `text` is shown once and kept nowhere
 * @throws {MailError} TENANT_NOT_FOUND, LIMIT, LABEL_REFUSED
 */
export async function createApiToken({ services, label, scopes, tenant, expiresAtMs }) {
  const { directory, clock } = services
  requireLabel(label)
  if (tenant !== null && !(await directory.hasTenant(tenant))) {
    throw new MailError('TENANT_NOT_FOUND')
  }
  const text = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`
  const token = {
    id: newId(),
    label,
    scopes: [...new Set(scopes)],
    tenant,
    createdAtMs: clock.nowMs(),
    expiresAtMs
  }
  await directory.insertApiToken({ ...token, hash: hashOf(text) })
  directory.audit({
    action: 'token-create',
    tenant,
    detail: { token: token.id, scopes: token.scopes.join(' ') }
  })
  return { token: { ...token, lastUsedAtMs: null }, text }
}

/**
 * @param {object} input
 * @param {{ directory: DirectoryPort, clock: import('../support/clock.js').Clock }} input.services
 * @param {string} input.text - as a client sent it
 * @returns {Promise<ApiToken | null>} null for a text that is no token, and for a token that was revoked or has expired
 */
export async function recognizeApiToken({ services, text }) {
  const { directory, clock } = services
  if (!SHAPE.test(text)) return null
  const token = await directory.findApiToken(hashOf(text))
  if (!token || (token.expiresAtMs !== null && token.expiresAtMs <= clock.nowMs())) return null
  directory.recordTokenUse(token.id)
  return token
}

/**
 * @param {object} input
 * @param {{ directory: DirectoryPort }} input.services
 * @param {string} input.id
 * @throws {MailError} CREDENTIAL_NOT_FOUND
 */
export async function revokeApiToken({ services, id }) {
  if (!(await services.directory.deleteApiToken(id))) throw new MailError('CREDENTIAL_NOT_FOUND')
  services.directory.audit({ action: 'token-revoke', detail: { token: id } })
}
