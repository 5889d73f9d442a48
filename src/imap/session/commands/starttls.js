/**
 * STARTTLS turns the plain connection into a TLS one. What came in the clear behind it is discarded.
 *
 * State: not authenticated, without TLS.
 * Command: RFC 3501 §6.2.1, RFC 9051 §6.2.1; RFC 8314 §3.2 for clients that should not need it.
 */
import { WrongState } from '../error-response.js'
import { NOT_AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const starttls = {
  name: 'STARTTLS',
  states: NOT_AUTHENTICATED,
  allowsExpunge: false,
  async run(session, _args, { tag }) {
    const { tls } = session.context
    if (session.connection.isTls) throw new WrongState('TLS is on already')
    if (tls === null) throw new WrongState('This server has no certificate')
    const reply = Buffer.from(`${tag} OK Begin TLS now\r\n`)
    const { deadlineMs } = session
    await session.connection.startTls({ reply, tls, deadlineMs })
    // A failed handshake has closed the connection; the session loop finds it closed.
    return { text: 'STARTTLS completed', isAnswered: true }
  }
}
