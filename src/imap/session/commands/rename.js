/**
 * RENAME gives a mailbox, and those below it, another name. Renaming INBOX moves its messages and leaves it empty.
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.5, RFC 9051 §6.3.6 (OLDNAME).
 */
import { oldNameOf, tellOldName } from '../mailbox-line.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { RawCommand } from '../../protocol/token.js' */
/** @import { Session } from '../session.js' */

/** @type {Command} */
export const rename = {
  name: 'RENAME',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ from: string, to: string }} */ { from, to }, { raw }) {
    session.requireWriteScope()
    const name = to.endsWith('/') ? to.slice(0, -1) : to
    const oldName = toldAsOld(session, raw, { from, to })
    await session.whileWorking(() => session.store.renameMailbox(from, name))
    await tellOldName(session, name, oldName)
    return { text: 'RENAME completed' }
  }
}

/**
 * The OLDNAME to tell, where the client wrote either name in another spelling than the one that is kept: the old name as it was
 * written.
 *
 * @param {Session} session
 * @param {RawCommand} raw
 * @param {{ from: string, to: string }} names - as they are kept
 * @returns {string | null}
 */
function toldAsOld(session, { tokens }, { from, to }) {
  const given = oldNameOf(session, tokens[0], from)
  if (given !== null) return given
  return oldNameOf(session, tokens[1], to) === null ? null : from
}
