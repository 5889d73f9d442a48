/**
 * CREATE makes a mailbox, and those above it that are missing, as far as there is room. A trailing separator only says
 * that others will follow below (RFC 3501 §6.3.3); here every mailbox can hold both.
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.3, RFC 9051 §6.3.4 (OLDNAME); RFC 6154 §3 (USE, USEATTR); RFC 8474 §4.1
 * (MAILBOXID).
 */
import { MailError } from '../../../errors.js'
import { mailboxId } from '../../protocol/compile/response-code.js'
import { oldNameOf, tellOldName } from '../mailbox-line.js'
import { parentsOf } from '../mailbox-tree.js'
import { mailboxIdOf } from '../object-id.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** The special uses of which a mailbox can be made for one (RFC 6154 §2). */
const OFFERED_USES = ['\\Archive', '\\Drafts', '\\Junk', '\\Sent', '\\Trash']

/** @type {Command} */
export const create = {
  name: 'CREATE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(
    session,
    /** @type {{ mailbox: string, specialUse: string[] }} */ { mailbox, specialUse },
    { raw }
  ) {
    session.requireWriteScope()
    requireUses(specialUse)
    const oldName = oldNameOf(session, raw.tokens[0], mailbox)
    const { id, name } = await session.store.createMailbox(mailbox, {
      specialUse: specialUse[0] ?? null
    })
    for (const parent of parentsOf(mailbox)) await createIfMissing(session, parent)
    await tellOldName(session, name, oldName)
    return { code: mailboxId(mailboxIdOf(id)), text: 'CREATE completed' }
  }
}

/**
 * @param {readonly string[]} uses - that the client asks for
 * @throws {MailError} USE_REFUSED
 */
function requireUses(uses) {
  // \All and \Flagged would be views of other mailboxes, \Important somebody's judgement.
  if (uses.length > 1 || uses.some((use) => !OFFERED_USES.includes(use)))
    throw new MailError('USE_REFUSED')
}

/**
 * Makes a mailbox of a level above one that is made already. Where there is no room for it, it stays a level of names: to
 * say NO would deny what has been done.
 *
 * @param {Session} session
 * @param {string} name
 */
async function createIfMissing(session, name) {
  try {
    await session.store.createMailbox(name, { specialUse: null })
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    if (error.code !== 'MAILBOX_EXISTS')
      session.logger.warn({ err: error }, 'a level above a new mailbox could not be made')
  }
}
