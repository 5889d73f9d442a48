/**
 * SEARCH and UID SEARCH find messages. A client that goes away ends its search.
 *
 * State: selected.
 * Command: RFC 3501 §6.4.4, RFC 9051 §6.4.4; RFC 7162 §3.1.5 (MODSEQ); RFC 4731 §3.1 (RETURN), RFC 5182 §2.1 (SAVE),
 * RFC 9394 §3.1 (PARTIAL). Response: RFC 3501 §7.2.5, RFC 4731 §3.1. The charset is the parser's business:
 * NO [BADCHARSET].
 */
import { compileNumberList } from '../../protocol/compile/number-list.js'
import { writeLongAnswer } from '../long-answer.js'
import { answerSearch, forgetSaved, highestModSeqOf } from '../search-answer.js'
import { findMessages, hasMessageNumbers, hasModSeq } from '../search-query.js'
import { NOTHING_SAVED } from '../saved-result.js'
import { SELECTED } from '../states.js'

/** @import { Command, CommandCall, CommandResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['SEARCH']} SearchArgs */

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
  const selected = session.requireSelected()
  const tellsModSeq = hasModSeq(key)
  if (tellsModSeq) session.enableCondstore()
  const isSaved = returns !== null && returns.options.includes('SAVE')
  const slots = await findMessages(session, key).catch((error) => {
    // RFC 5182 §2.1: what is answered NO leaves nothing saved.
    if (isSaved) selected.savedResult = NOTHING_SAVED
    throw error
  })
  if (returns !== null) await answerSearch(session, { tag, isUid, slots, returns, tellsModSeq })
  else {
    const { uids, modSeqs } = selected.view
    const modSeq = tellsModSeq && slots.length > 0 ? highestModSeqOf(slots, modSeqs) : null
    const numberAt = (/** @type {number} */ index) => {
      const slot = /** @type {number} */ (slots[index])
      return isUid ? /** @type {number} */ (uids[slot]) : selected.sequenceOfSlot(slot)
    }
    const pieces = compileNumberList('SEARCH', slots.length, numberAt, { modSeq })
    await writeLongAnswer(session, pieces)
  }
  return {
    text: `${isUid ? 'UID SEARCH' : 'SEARCH'} completed`,
    holdsExpunges: hasMessageNumbers(key)
  }
}
