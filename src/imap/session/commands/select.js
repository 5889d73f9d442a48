/**
 * SELECT opens a mailbox; EXAMINE opens it to be read only. A mailbox that was open before is left first, without
 * expunging, also when the new one cannot be opened. Other processes' changes are taken in as the new one is
 * opened.
 *
 * State: authenticated, selected.
 * Command: RFC 3501 §6.3.1, §6.3.2, RFC 9051 §6.3.2, §6.3.3; RFC 7162 §3.1.8 (CONDSTORE parameter),
 * §3.2.5 (QRESYNC parameter).
 * Responses: RFC 3501 §7.1 (PERMANENTFLAGS, UIDNEXT, UIDVALIDITY, UNSEEN), §7.2.6, §7.3.1, §7.3.2; RFC 7162 §3.1.2.1
 * (HIGHESTMODSEQ), RFC 8474 §4.2 (MAILBOXID), RFC 7162 §3.2.11 (CLOSED). In IMAP4rev2 LIST, and neither RECENT nor UNSEEN
 * (RFC 9051 Appendix E, 10 to 12).
 */
import {
  CODE,
  highestModSeq,
  mailboxId,
  uidNext,
  uidValidity,
  unseen
} from '../../protocol/compile/response-code.js'
import { badSyntax } from '../../protocol/syntax-failure.js'
import { oldNameOf, writeMailboxLine } from '../mailbox-line.js'
import { claimRecent, tellKeywords, writeSize } from '../mailbox-news.js'
import { tellMissed } from '../resynchronize.js'
import { mailboxIdOf } from '../object-id.js'
import { SelectedMailbox } from '../selected-mailbox.js'
import { SEEN } from '../../../store/flags.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command, CommandCall, CommandResult } from '../dispatcher.js' */
/** @import { MailboxRow } from '../../../store/mailbox-rows.js' */
/** @import { SyntaxFailure } from '../../protocol/syntax-failure.js' */
/** @import { RawCommand } from '../../protocol/token.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['SELECT']} SelectArgs */

/** @type {Command} */
export const select = {
  name: 'SELECT',
  states: AUTHENTICATED,
  allowsExpunge: false,
  leavesMailbox: true,
  onSyntaxFailure: leaveBefore,
  run: (session, /** @type {SelectArgs} */ args, call) =>
    open(session, args, call, session.isReadOnly)
}

/** @type {Command} */
export const examine = {
  name: 'EXAMINE',
  states: AUTHENTICATED,
  allowsExpunge: false,
  leavesMailbox: true,
  onSyntaxFailure: leaveBefore,
  run: (session, /** @type {SelectArgs} */ args, call) => open(session, args, call, true)
}

/**
 * A SELECT that is answered NO because no mailbox can have such a name leaves no mailbox selected either (RFC 3501 §6.3.1).
 *
 * @param {Session} session
 * @param {RawCommand} _raw
 * @param {SyntaxFailure} failure
 */
function leaveBefore(session, _raw, failure) {
  if (failure.reply.status === 'NO') leave(session)
}

/**
 * Leaves the mailbox that is selected, if one is.
 *
 * @param {Session} session
 */
function leave(session) {
  if (session.selected === null) return
  session.unselect()
  // RFC 7162 §3.2.11: what follows is about another mailbox.
  session.untagged('OK', CODE.closed, 'The previous mailbox is closed')
}

/**
 * @param {Session} session
 * @param {SelectArgs} args
 * @param {CommandCall} call
 * @param {boolean} isReadOnly
 * @returns {Promise<CommandResult>}
 */
async function open(session, { mailbox, condstore, qresync }, { raw }, isReadOnly) {
  // RFC 7162 §3.2.5
  if (qresync !== null && !session.enabled.isQresync) throw badSyntax('ENABLE QRESYNC comes first')
  const oldName = oldNameOf(session, raw.tokens[0], mailbox)
  leave(session)
  if (condstore) session.enableCondstore()
  const { mailbox: row, view } = await session.store.openView(mailbox)
  const selected = new SelectedMailbox({
    view,
    isReadOnly,
    origin: session.origin,
    onChange: () => {
      if (session.isIdling) session.connection.wake()
    }
  })
  session.select(selected)
  selected.hold()
  try {
    await tellMailbox(session, selected, { row, oldName, qresync })
  } catch (error) {
    // RFC 3501 §6.3.1: after a SELECT that fails, no mailbox is selected.
    session.unselect()
    throw error
  } finally {
    selected.unhold()
  }
  return { code: isReadOnly ? CODE.readOnly : CODE.readWrite, text: `${raw.name} completed` }
}

/**
 * Tells what a client must know of a mailbox that has just been selected, and what it has missed.
 *
 * @param {Session} session
 * @param {SelectedMailbox} selected
 * @param {{ row: MailboxRow, oldName: string | null, qresync: SelectArgs['qresync'] }} options
 */
async function tellMailbox(session, selected, { row, oldName, qresync }) {
  const { view } = selected
  // UIDNEXT must be of the same moment as EXISTS: messages that come while \Recent is claimed are told at the end.
  const { uidNext: nextUid } = view
  if (!selected.isReadOnly) await claimRecent(session)
  else if (!session.enabled.isRev2) selected.recent.add(row.recentFromUid, view.uidNext)
  session.toldKeywords = -1
  tellKeywords(session)
  writeSize(session, selected.messageCount)
  const firstUnseen = session.enabled.isRev2 ? 0 : findFirstUnseen(selected)
  if (firstUnseen > 0) session.untagged('OK', unseen(firstUnseen), 'First unseen message')
  session.untagged('OK', uidValidity(view.uidValidity), 'UIDs are valid')
  session.untagged('OK', uidNext(nextUid), 'Predicted next UID')
  session.untagged('OK', highestModSeq(selected.toldModSeq), 'Highest modification sequence')
  session.untagged('OK', mailboxId(mailboxIdOf(view.mailboxId)), 'The mailbox, whatever its name')
  if (session.enabled.isRev2) await writeMailboxLine(session, row, oldName)
  if (qresync !== null) await tellMissed(session, qresync)
}

/**
 * @param {SelectedMailbox} selected
 * @returns {number} the sequence number of the first message without \Seen, 0 if there is none
 */
function findFirstUnseen(selected) {
  const { view } = selected
  const { flags, length } = view
  for (let slot = 0; slot < length; slot++) {
    const isUnseen = ((flags[slot] ?? 0) & SEEN) === 0
    if (isUnseen && !view.isExpunged(slot)) return selected.sequenceOfSlot(slot)
  }
  return 0
}
