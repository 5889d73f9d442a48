/**
 * RENAME gives a mailbox, and those below it, another name. Renaming INBOX moves its messages and leaves it empty.
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.5, RFC 9051 §6.3.6.
 */
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const rename = {
  name: 'RENAME',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ from: string, to: string }} */ { from, to }) {
    session.requireWriteScope()
    const name = to.endsWith('/') ? to.slice(0, -1) : to
    await session.whileWorking(() => session.store.renameMailbox(from, name))
    return { text: 'RENAME completed' }
  }
}
