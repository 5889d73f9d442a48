/**
 * The LIST line of one mailbox, beside LIST itself: SELECT tells it in IMAP4rev2, and a client that has written a name in
 * another spelling than the one that is kept is told of both.
 */
import { MailError } from '../../errors.js'
import { compileList } from '../protocol/compile/list.js'
import { HIERARCHY_DELIMITER } from '../protocol/values/mailbox-name.js'

/** @import { Token } from '../protocol/token.js' */
/** @import { MailboxRow } from '../../store/mailbox-rows.js' */
/** @import { MailboxNode } from './mailbox-tree.js' */
/** @import { Session } from './session.js' */

/**
 * @param {Pick<MailboxNode, 'row' | 'hasChildren' | 'isSubscribed'>} node
 * @param {{ knowsNonExistent: boolean, tellsSubscribed: boolean }} options - `knowsNonExistent`: the client asked in the
 *   way of RFC 5258, or speaks IMAP4rev2
 * @returns {string[]}
 */
export function attributesOf(node, { knowsNonExistent, tellsSubscribed }) {
  const attributes = []
  // \NonExistent implies \Noselect (RFC 5258 §3, RFC 9051 §7.3.1), for those who know it.
  if (node.row === null) attributes.push(knowsNonExistent ? '\\NonExistent' : '\\Noselect')
  attributes.push(node.hasChildren ? '\\HasChildren' : '\\HasNoChildren')
  if (node.row?.specialUse != null) attributes.push(node.row.specialUse)
  if (tellsSubscribed && node.isSubscribed) attributes.push('\\Subscribed')
  return attributes
}

/**
 * Writes the line of a mailbox that is there, with all its attributes.
 *
 * @param {Session} session
 * @param {MailboxRow} row
 * @param {string | null} oldName - what the client has called it, where that is another name (RFC 9051 §6.3.9.7)
 */
export async function writeMailboxLine(session, row, oldName) {
  const { name, isSubscribed } = row
  const hasChildren = await session.store.hasMailboxesBelow(name)
  const node = { row, hasChildren, isSubscribed }
  const attributes = attributesOf(node, { knowsNonExistent: true, tellsSubscribed: true })
  session.write(compileList({ name, attributes, oldName }, { isUtf8: session.enabled.isUtf8 }))
}

/**
 * Tells the name under which a mailbox is kept, after a command that was given another spelling of it (RFC 9051 §6.3.4,
 * §6.3.6, §6.3.12). The command has been done: where the mailbox cannot be read any more, nothing is told.
 *
 * @param {Session} session
 * @param {string} name - in Unicode, as it is kept
 * @param {string | null} oldName - null: there is nothing to tell
 */
export async function tellOldName(session, name, oldName) {
  if (oldName === null) return
  try {
    await writeMailboxLine(session, await session.store.mailboxStatus(name), oldName)
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    session.logger.warn({ err: error }, 'the spelling of a name could not be told')
  }
}

/**
 * @param {Session} session
 * @param {Token | undefined} token - the argument that names the mailbox, of a command that has waited for nothing yet
 * @param {string} name - the name as it is kept: composed (NFC), INBOX in capitals as the first level
 * @returns {string | null} the name as the client has written it; null where that is the same, or nobody has to know.
 *   INBOX in any case is INBOX (RFC 9051 §9, mailbox), and a trailing separator belongs to no name (§6.3.4)
 */
export function oldNameOf(session, token, name) {
  if (!session.enabled.isRev2 || name === 'INBOX') return null
  const given = token?.type === 'atom' || token?.type === 'string' ? token.bytes.toString() : name
  return given === name || given === `${name}${HIERARCHY_DELIMITER}` ? null : given
}
