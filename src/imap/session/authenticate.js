/**
 * From a name and a password to a session that is logged in; and the two SASL mechanisms that carry them.
 *
 * The password's buffer is zeroed here, whatever happens. Refusals say the same for an unknown name, a wrong
 * password and a revoked one.
 */
import { MailError } from '../../errors.js'
import { readPlainMessage } from '../../sasl/plain-message.js'
import { capability } from '../protocol/compile/response-code.js'
import { continuation } from '../protocol/compile/status-response.js'
import { decodeBase64 } from '../protocol/parse/index.js'
import { badSyntax, SyntaxFailure } from '../protocol/syntax-failure.js'
import { ConnectionClosed } from './connection.js'
import { refuseLine } from './refused-line.js'

/** @import { Session } from './session.js' */
/** @import { CommandResult } from './dispatcher.js' */

const CANCEL = Buffer.from('*')

/**
 * @typedef {object} PlainCredentials
 * @property {string} username
 * @property {Buffer} password - of its own memory
 */

/**
 * @param {Session} session
 * @throws {MailError} TLS_REQUIRED where a password would cross the network in the clear
 */
export function requirePrivacy(session) {
  if (!session.mayLogIn) throw new MailError('TLS_REQUIRED')
}

/**
 * @param {Session} session
 * @param {PlainCredentials} credentials - the password is zeroed
 * @param {string} commandName
 * @returns {Promise<CommandResult>}
 * @throws {MailError} LIMIT where the account has no room for one more session; what `authenticate` of the server throws
 */
export async function logIn(session, { username, password }, commandName) {
  const { context, connection } = session
  const { remoteAddress, isTls } = connection
  let login
  try {
    const { id: sessionId } = connection
    const client = { sessionId, remoteAddress, isTls, clientName: session.clientName }
    const attempt = { username, password, ...client, asker: connection }
    // Where many log in, a login may wait for its turn: the password of a client that has gone meanwhile is not checked.
    login = await session.whileWorking(() => context.authenticate(attempt))
  } catch (error) {
    if (error instanceof MailError) session.countRefusedLogin()
    throw error
  } finally {
    password.fill(0)
  }
  if (connection.isClosed || !context.hasRoomFor(login.account.id)) {
    await login.release()
    throw new MailError('LIMIT', { detail: 'sessions of the account' })
  }
  session.logIn(login)
  session.logger.info({ scope: login.scope, isTls }, 'logged in')
  return { code: capability(session.capabilities), text: `${commandName} completed` }
}

/**
 * Reads the client's next SASL line.
 *
 * @param {Session} session
 * @param {string} challenge - text that is sent as base64
 * @returns {Promise<Buffer>} decoded
 * @throws {SyntaxFailure} when the client cancels or sends no base64
 */
async function ask(session, challenge) {
  const { connection } = session
  connection.receiver.expectLine()
  session.write(continuation(Buffer.from(challenge).toString('base64')))
  const event = await connection.nextEvent({ deadlineMs: session.deadlineMs, isWakeable: true })
  if (event.kind === 'error') throw session.failureOf(event)
  if (event.kind === 'closed') throw new ConnectionClosed()
  if (event.kind !== 'line') {
    // The receiver still takes the next line for SASL, so there is no way back to commands. The client is told why it must go.
    session.end('Autologout, the authentication was not finished')
    throw badSyntax('Authentication was interrupted')
  }
  // As whoever closes the question for a password does: mail programs show what the answer says (RFC 9051 §6.2.2).
  if (event.line.equals(CANCEL))
    throw new SyntaxFailure('CANCELLED', 'Authentication was cancelled')
  try {
    return decodeBase64(event.line)
  } catch (error) {
    throw refuseLine(session, event.line, /** @type {SyntaxFailure} */ (error))
  } finally {
    event.line.fill(0)
  }
}

/**
 * The mechanisms: each turns a dialogue into credentials.
 *
 * @type {ReadonlyMap<string, (session: Session, initial: Buffer | null) => Promise<PlainCredentials>>}
 */
export const MECHANISMS = new Map([
  ['PLAIN', authenticatePlain],
  ['LOGIN', authenticateLogin]
])

/**
 * PLAIN: all in one message.
 *
 * @param {Session} session
 * @param {Buffer | null} initial - the initial response (RFC 4959 §3)
 * @returns {Promise<PlainCredentials>}
 */
async function authenticatePlain(session, initial) {
  const credentials = readPlainMessage(initial ?? (await ask(session, '')))
  if (credentials === null) throw badSyntax('That is no PLAIN message')
  return credentials
}

/**
 * LOGIN: name and password one after the other (draft-murchison-sasl-login §2); Outlook uses it.
 *
 * @param {Session} session
 * @param {Buffer | null} initial - the name, where the client sends it along
 * @returns {Promise<PlainCredentials>}
 */
async function authenticateLogin(session, initial) {
  const name = initial ?? (await ask(session, 'Username:'))
  const password = await ask(session, 'Password:')
  return { username: name.toString('utf8'), password }
}
