/**
 * DELETE removes a mailbox and its messages. Mailboxes below it stay, and the name then is \Noselect.
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.4, RFC 9051 §6.3.5 (OLDNAME).
 */
import { compileList } from '../../protocol/compile/list.js'
import { oldNameOf } from '../mailbox-line.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const deleteCommand = {
  name: 'DELETE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ mailbox: string }} */ { mailbox }, { raw }) {
    session.requireWriteScope()
    const oldName = oldNameOf(session, raw.tokens[0], mailbox)
    await session.store.deleteMailbox(mailbox)
    if (session.isAtDeletedMailbox) session.unselect()
    if (oldName !== null) {
      const entry = { name: mailbox, attributes: ['\\NonExistent'], oldName }
      session.write(compileList(entry, { isUtf8: session.enabled.isUtf8 }))
    }
    return { text: 'DELETE completed' }
  }
}
