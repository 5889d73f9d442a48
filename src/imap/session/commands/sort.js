/**
 * SORT and UID SORT find messages and put them in order. A client that goes away ends its sort.
 *
 * State: selected.
 * Command: RFC 5256 §3 (BASE.6.4.SORT); RFC 5957 §4 (DISPLAYFROM, DISPLAYTO); RFC 5267 §3.1 (RETURN), RFC 9394 §3.1
 * (PARTIAL). Responses: RFC 5256 §4 (SORT), RFC 5267 §3.2 (ESEARCH), RFC 7162 §3.1.6 (MODSEQ).
 */
import { sortMessages } from '../../../store/sort/sort-messages.js'
import { compileNumberList } from '../../protocol/compile/number-list.js'
import { writeLongAnswer } from '../long-answer.js'
import { answerSearch, forgetSaved, highestModSeqOf } from '../search-answer.js'
import { findMessages, hasMessageNumbers, hasModSeq, stillThere } from '../search-query.js'
import { NOTHING_SAVED } from '../saved-result.js'
import { SELECTED } from '../states.js'

/** @import { Command, CommandCall, CommandResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['SORT']} SortArgs */

/** @type {Command} */
export const sort = {
  name: 'SORT',
  states: SELECTED,
  allowsExpunge: false,
  onSyntaxFailure: forgetSaved,
  run: sortMailbox
}

/** @type {Command} */
export const uidSort = {
  name: 'UID SORT',
  states: SELECTED,
  allowsExpunge: true,
  onSyntaxFailure: forgetSaved,
  run: sortMailbox
}

/**
 * @param {Session} session
 * @param {SortArgs} args
 * @param {CommandCall} call
 * @returns {Promise<CommandResult>}
 */
async function sortMailbox(session, { isUid, criteria, key, returns }, { tag }) {
  const selected = session.requireSelected()
  const { view } = selected
  const tellsModSeq = hasModSeq(key)
  if (tellsModSeq) session.enableCondstore()
  const slots = await findAndSort(session, { key, criteria }).catch((error) => {
    // RFC 5182 §2.1: what is answered NO leaves nothing saved; until then `$` may stand in the keys themselves.
    if (returns?.options.includes('SAVE')) selected.savedResult = NOTHING_SAVED
    throw error
  })
  const sorted = stillThere(view, slots)
  if (returns !== null) {
    await answerSearch(session, { tag, isUid, slots: sorted, returns, tellsModSeq })
  } else {
    const modSeq = tellsModSeq && sorted.length > 0 ? highestModSeqOf(sorted, view.modSeqs) : null
    const numberAt = (/** @type {number} */ index) => {
      const slot = /** @type {number} */ (sorted[index])
      return isUid ? /** @type {number} */ (view.uids[slot]) : selected.sequenceOfSlot(slot)
    }
    const pieces = compileNumberList('SORT', sorted.length, numberAt, { modSeq })
    await writeLongAnswer(session, pieces)
  }
  return {
    text: `${isUid ? 'UID SORT' : 'SORT'} completed`,
    holdsExpunges: hasMessageNumbers(key)
  }
}

/**
 * @param {Session} session
 * @param {Pick<SortArgs, 'key' | 'criteria'>} what
 * @returns {Promise<number[]>} slots, in order
 */
async function findAndSort(session, { key, criteria }) {
  const { store, connection } = session
  const { view } = session.requireSelected()
  const slots = await findMessages(session, key)
  return await session.whileWorking(() =>
    sortMessages({ store, view, slots, criteria, signal: connection.closeSignal })
  )
}
