/**
 * A line that came in the place of DONE, or of an answer in a SASL exchange, is often a command that the client has sent too
 * early. None of it is run, neither now nor as what would follow: a literal that the client does not wait with is passed over.
 */

/** @import { SyntaxFailure } from '../protocol/syntax-failure.js' */
/** @import { Session } from './session.js' */

/**
 * @param {Session} session
 * @param {Buffer} line - as it came
 * @param {SyntaxFailure} failure - what is wrong with it
 * @returns {SyntaxFailure} to be answered; the session ends where the rest cannot be passed over
 */
export function refuseLine(session, line, failure) {
  const event = session.connection.receiver.skipAfter(line)
  return event === null ? failure : session.failureOf(event)
}
