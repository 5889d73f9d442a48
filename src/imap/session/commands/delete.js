/**
 * DELETE removes a mailbox and its messages. Mailboxes below it stay, and the name then is \Noselect.
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.4, RFC 9051 §6.3.5.
 */
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const deleteCommand = {
  name: 'DELETE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ mailbox: string }} */ { mailbox }) {
    session.requireWriteScope()
    await session.store.deleteMailbox(mailbox)
    if (session.isAtDeletedMailbox) session.unselect()
    return { text: 'DELETE completed' }
  }
}
