/**
 * SEARCH and UID SEARCH find messages. A client that goes away ends its search.
 *
 * State: selected.
 * Command: RFC 3501 §6.4.4, RFC 9051 §6.4.4; RFC 7162 §3.1.5 (MODSEQ); RFC 4731 §3.1 (RETURN), RFC 5182 §2.1 (SAVE),
 * RFC 9394 §3.1 (PARTIAL). Response: RFC 3501 §7.2.5, RFC 4731 §3.1, RFC 9051 §7.3.4. The charset is the parser's
 * business: NO [BADCHARSET].
 */
import { answerSearch, forgetSaved } from '../search-answer.js'
import { findMessages } from '../search-query.js'
import { SELECTED } from '../states.js'

/** @import { Command, CommandCall, CommandResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['SEARCH']} SearchArgs */

/** The result options of IMAP4rev2 where none is given: ALL, in an ESEARCH (RFC 9051 §6.4.4). */
const RETURN_ALL = Object.freeze({ options: [], partial: null })

/** @type {Command} */
export const search = {
  name: 'SEARCH',
  states: SELECTED,
  allowsExpunge: false,
  onSyntaxFailure: forgetSaved,
  run: searchMailbox
}

/** @type {Command} */
export const uidSearch = {
  name: 'UID SEARCH',
  states: SELECTED,
  allowsExpunge: true,
  onSyntaxFailure: forgetSaved,
  run: searchMailbox
}

/**
 * @param {Session} session
 * @param {SearchArgs} args
 * @param {CommandCall} call
 * @returns {Promise<CommandResult>}
 */
async function searchMailbox(session, { isUid, key, returns }, { tag }) {
  const asked = returns ?? (session.enabled.isRev2 ? RETURN_ALL : null)
  const command = { name: /** @type {const} */ ('SEARCH'), tag, isUid, key, returns: asked }
  return await answerSearch(session, command, () => findMessages(session, key))
}
