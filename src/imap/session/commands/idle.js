/**
 * IDLE waits and tells what happens as it happens, until the client says DONE. Nothing ends it but the client, its
 * network, the server's shutdown, or somebody else who deletes the mailbox; a reminder every other minute keeps routers from
 * forgetting the connection.
 * It is taken before SELECT too (Outlook does that) and then just waits.
 *
 * State: authenticated, selected.
 * Command: RFC 2177 §3, RFC 9051 §6.3.13.
 */
import { continuation } from '../../protocol/compile/status-response.js'
import { badSyntax } from '../../protocol/syntax-failure.js'
import { tellNews } from '../mailbox-news.js'
import { refuseLine } from '../refused-line.js'
import { AUTHENTICATED } from '../states.js'

/** @import { SyntaxFailure } from '../../protocol/syntax-failure.js' */
/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @type {Command} */
export const idle = {
  name: 'IDLE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session) {
    session.connection.receiver.expectLine()
    session.write(continuation('idling'))
    session.isIdling = true
    // The dispatcher holds the slots for the time of a command; this one must not, for it may take days.
    session.selected?.unhold()
    try {
      const isDone = await waitForDone(session)
      return { text: 'IDLE completed', isAnswered: !isDone }
    } finally {
      session.selected?.hold()
      session.isIdling = false
    }
  }
}

/**
 * @param {Session} session
 * @returns {Promise<boolean>} whether the client ends it; false where the server or the network does
 * @throws {SyntaxFailure} for any other line
 */
async function waitForDone(session) {
  const { connection } = session
  for (;;) {
    await tellNews(session, { allowsExpunge: true, isUid: false }, 'IDLE')
    if (connection.isCongested) await connection.drain()
    if (session.isEnding || session.isAtDeletedMailbox) return false
    const event = await connection.nextEvent({ deadlineMs: Infinity, isWakeable: true })
    if (event.kind === 'line') {
      if (event.line.toString('latin1').trim().toUpperCase() === 'DONE') return true
      throw refuseLine(session, event.line, badSyntax('Expected DONE'))
    }
    if (event.kind === 'error') throw session.failureOf(event)
    if (event.kind === 'closed') return false
  }
}
