/**
 * SUBSCRIBE and UNSUBSCRIBE keep the list that LSUB tells. A name stays on it when its mailbox is deleted, and may be
 * put there before it exists (RFC 3501 §6.3.6: the server must not remove it of its own accord).
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.6, §6.3.7, RFC 9051 §6.3.7, §6.3.8.
 */
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const subscribe = {
  name: 'SUBSCRIBE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ mailbox: string }} */ { mailbox }) {
    session.requireWriteScope()
    await session.store.setSubscribed(mailbox, true)
    return { text: 'SUBSCRIBE completed' }
  }
}

/** @type {Command} */
export const unsubscribe = {
  name: 'UNSUBSCRIBE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ mailbox: string }} */ { mailbox }) {
    session.requireWriteScope()
    await session.store.setSubscribed(mailbox, false)
    return { text: 'UNSUBSCRIBE completed' }
  }
}
