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
import { AUTHENTICATED } from '../states.js'

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
      const line = await waitForLine(session)
      if (line !== null && line.toUpperCase() !== 'DONE') throw badSyntax('Expected DONE')
      return { text: 'IDLE completed', isAnswered: line === null }
    } finally {
      session.selected?.hold()
      session.isIdling = false
    }
  }
}

/**
 * @param {Session} session
 * @returns {Promise<string | null>} the line that ends it; null where the server or the network ends it
 */
async function waitForLine(session) {
  const { connection } = session
  for (;;) {
    await tellNews(session, { allowsExpunge: true, isUid: false }, 'IDLE')
    if (connection.isCongested) await connection.drain()
    if (session.isEnding || session.isAtDeletedMailbox) return null
    const event = await connection.nextEvent({ deadlineMs: Infinity, isWakeable: true })
    if (event.kind === 'line') return event.line.toString('latin1').trim()
    if (event.kind === 'error') throw session.failureOf(event)
    if (event.kind === 'closed') return null
  }
}
