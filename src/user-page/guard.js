/**
 * Whose request it is, and whether that person's browser has sent it from this page.
 *
 * Three things keep other sites out: the cookie goes nowhere but here (SameSite=Strict, and the prefix `__Host-` binds it to
 * this host over TLS), a form must come from this origin, and it must carry the session's token.
 */
import { equalInConstantTime } from '../crypto/constant-time.js'
import { Refusal } from './problem.js'
import { keyOfSession } from './page-sessions.js'

/** @import { FastifyReply, FastifyRequest } from 'fastify' */
/** @import { FormBody } from './form-body.js' */
/** @import { PageSession, SharedPageSessions } from './page-sessions.js' */
/** @import { Account, DirectoryPort } from '../accounts/directory-port.js' */

/**
 * @typedef {{ session: PageSession, account: Account }} PageLogin
 */

const COOKIE = '__Host-letterlock'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'

/** The field of a form that carries the session's token. */
export const TOKEN_FIELD = 'token'

/**
 * @param {FastifyRequest} request
 * @returns {string | null} the key of the session that the browser says it has
 */
export function sessionKeyOf({ headers: { cookie = '' } }) {
  const id = new RegExp(`(?:^|; ?)${COOKIE}=([\\w-]{43})(?:;|$)`).exec(cookie)?.[1]
  return id === undefined ? null : keyOfSession(id)
}

/**
 * @param {FastifyReply} reply
 * @param {string | null} id - null: the browser forgets it
 * @returns {FastifyReply}
 */
export function setSession(reply, id) {
  const cookie = id === null ? `${COOKIE}=; Max-Age=0` : `${COOKIE}=${id}`
  return reply.header('set-cookie', `${cookie}; ${ATTRIBUTES}`)
}

/**
 * Looks at Fetch Metadata or the Origin header (https://fetch.spec.whatwg.org/#origin-header): every browser sends one of the
 * two with a form.
 *
 * @param {FastifyRequest} request
 * @throws {Refusal} 403
 */
export function requireSameOrigin({ headers }) {
  const { host = '', origin, 'sec-fetch-site': site } = headers
  const isOurs = origin?.toLowerCase() === `https://${host.toLowerCase()}`
  const isSameSite = site === undefined || site === 'same-origin'
  if ((origin === undefined ? site === 'same-origin' : isOurs) && isSameSite) return
  throw new Refusal(403, 'That form was not sent from this page, so nothing was done.')
}

/**
 * @param {PageSession} session
 * @param {FormBody} form
 * @throws {Refusal} 403
 */
export function requireToken({ token }, form) {
  if (equalInConstantTime(Buffer.from(token), form.secret(TOKEN_FIELD))) return
  throw new Refusal(
    403,
    'That form is from an older login, so nothing was done. Open the page anew.'
  )
}

/**
 * @param {object} input
 * @param {FastifyRequest} input.request
 * @param {SharedPageSessions} input.sessions
 * @param {DirectoryPort} input.directory
 * @returns {Promise<PageLogin | null>} null where there is no session, or where its account or credential has changed since
 */
export async function findLogin({ request, sessions, directory }) {
  const key = sessionKeyOf(request)
  const session = key === null ? null : await sessions.use(key)
  if (!session) return null
  const account = await directory.findAccount(session.accountId)
  const credential = await directory.findCredential(session.credentialId)
  if (account?.isEnabled && credential?.version === session.credentialVersion) {
    return { session, account }
  }
  await sessions.end(session.key)
  return null
}
