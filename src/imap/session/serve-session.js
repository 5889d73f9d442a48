/**
 * The course of a session: one command after the other, until the client leaves or is sent away.
 */
import { inTurnsOf } from '../../support/turns.js'
import { capability } from '../protocol/compile/response-code.js'
import { continuation } from '../protocol/compile/status-response.js'
import { dispatch } from './dispatcher.js'
import { replyToSyntaxFailure } from './error-response.js'

/** @import { Login } from './server-context.js' */
/** @import { Reply } from './error-response.js' */
/** @import { Session } from './session.js' */

/**
 * Serves the client until it leaves. Never throws.
 *
 * @param {Session} session
 * @param {Login | null} [login] - of a session that another worker has greeted and logged in
 */
export async function serveSession(session, login = null) {
  if (login !== null) session.logIn(login)
  else session.untagged('OK', capability(session.capabilities), 'Letterlock is ready')
  try {
    while (await inTurnsOf(session.accountId, () => serveSameUser(session)));
    await session.relay()
  } catch (error) {
    session.fail(error)
  }
  await session.replies.settle()
  session.state = 'logout'
  session.connection.end()
  await session.leave()
}

/**
 * Serves the client until it leaves or logs in: after that, its turns are those of its account.
 *
 * @param {Session} session
 * @returns {Promise<boolean>} whether to go on, now that the client has logged in
 */
async function serveSameUser(session) {
  const { accountId } = session
  while (await step(session)) if (session.accountId !== accountId) return true
  return false
}

/**
 * @param {Session} session
 * @returns {Promise<boolean>} whether to go on
 */
async function step(session) {
  const { connection, replies } = session
  // The client would wait for ever for news of a mailbox that is gone, even where another has got its name (RFC 2180 §3.3).
  if (session.isAtDeletedMailbox) session.end('The selected mailbox was deleted')
  if (session.byeText !== null) {
    await replies.settle()
    session.untagged('BYE', null, session.byeText)
    connection.end()
    return false
  }
  if (session.isElsewhere) return false
  if (connection.hasUnsent) await connection.drain()
  const event = await connection.nextEvent({ deadlineMs: session.deadlineMs, isWakeable: true })
  switch (event.kind) {
    case 'wake':
      return true
    case 'closed':
      return false
    case 'timeout':
      await replies.settle()
      session.untagged('BYE', null, 'Autologout, nothing was said for too long')
      return false
    case 'continue':
      // The continuation belongs to this command: the replies to those before it go out first.
      await replies.settle()
      session.write(continuation('OK'))
      return true
    case 'error':
      await replies.settle()
      session.tagged(event.tag ?? '*', replyToSyntaxFailure(session.failureOf(event)))
      return isPatientAfter(session, event.failure.reply.status)
    case 'command':
    case 'message': {
      connection.pace?.noteCommand()
      const status = await dispatch(session, event)
      return session.state !== 'logout' && isPatientAfter(session, status)
    }
    default:
      throw new Error(`unexpected ${event.kind} between commands`)
  }
}

/**
 * @param {Session} session
 * @param {Reply['status']} status - of the command that has just ended
 * @returns {boolean} whether to go on
 */
function isPatientAfter(session, status) {
  if (!session.strikes.countCommand(status)) return true
  session.untagged('BYE', null, 'Too many bad commands')
  return false
}
