/**
 * Asks for the password once more within a session. A wrong one counts for the throttle as anywhere else.
 */
import { recognizeCode } from '../crypto/generated-code.js'
import { isMailError } from '../errors.js'
import { Refusal } from './problem.js'

/** @import { AccountServices } from '../accounts/services.js' */
/** @import { Standing } from '../accounts/argon2-queue.js' */
/** @import { FormBody } from './form-body.js' */
/** @import { Visit } from './page-route.js' */

/**
 * @param {FormBody} form - with the field `password`
 * @returns {Buffer} the form's own bytes
 * @throws {Refusal} 422 for a code: the page is for those who know the password
 */
export function passwordOf(form) {
  const password = form.secret('password')
  const typed = recognizeCode(password)
  typed?.code.dispose()
  if (!typed && password.length > 0) return password
  throw new Refusal(422, 'The password of the mailbox itself is asked for, and no code.')
}

/**
 * @template T
 * @param {AccountServices} services
 * @param {Pick<Visit, 'form' | 'login' | 'remoteAddress'>} visit
 * @param {(secret: Buffer, turn: { standing: Standing }) => Promise<T>} work - throws AUTHENTICATION_FAILED where `secret` is
 *   wrong
 * @returns {Promise<T>}
 * @throws {Refusal} as `passwordOf`; 409 where another password was set meanwhile, for instance by the same form, sent twice
 * @throws {import('../errors.js').MailError} THROTTLED; what `work` throws
 */
export async function withPassword({ unlocker, directory }, { form, login, remoteAddress }, work) {
  const password = passwordOf(form)
  const { account, session } = login
  const attempt = { username: session.username, password, remoteAddress }
  try {
    return await unlocker.throttled(attempt, account, (turn) => work(password, turn))
  } catch (error) {
    const isStale = isMailError(error, 'AUTHENTICATION_FAILED') || isMailError(error, 'BUSY')
    const present = isStale ? await directory.findCredential(session.credentialId) : null
    if (present === null || present.version === session.credentialVersion) throw error
    throw new Refusal(409, 'The password was changed meanwhile: log in with the new one.')
  }
}
