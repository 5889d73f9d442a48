/**
 * SORT and UID SORT find messages and put them in order. A client that goes away ends its sort.
 *
 * State: selected.
 * Command: RFC 5256 §3 (BASE.6.4.SORT); RFC 5957 §4 (DISPLAYFROM, DISPLAYTO); RFC 5267 §3.1 (RETURN), RFC 9394 §3.1
 * (PARTIAL). Responses: RFC 5256 §4 (SORT), RFC 5267 §3.2 (ESEARCH), RFC 7162 §3.1.6 (MODSEQ).
 */
import { sortMessages } from '../../../store/sort/sort-messages.js'
import { compileEsearch } from '../../protocol/compile/search.js'
import { compileNumberList } from '../../protocol/compile/number-list.js'
import { takePage } from '../../protocol/values/partial-range.js'
import { writeLongAnswer } from '../long-answer.js'
import { highestModSeqOf } from '../search-answer.js'
import { findMessages, hasModSeq, stillThere } from '../search-query.js'
import { NOTHING_SAVED, SavedResult } from '../saved-result.js'
import { SELECTED } from '../states.js'

/** @import { SearchReturn } from '../../protocol/parse/search.js' */
/** @import { Command, CommandCall, CommandResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['SORT']} SortArgs */

/** @type {Command} */
export const sort = {
  name: 'SORT',
  states: SELECTED,
  allowsExpunge: false,
  run: sortMailbox
}

/** @type {Command} */
export const uidSort = {
  name: 'UID SORT',
  states: SELECTED,
  allowsExpunge: true,
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
  const modSeq = tellsModSeq && sorted.length > 0 ? highestModSeqOf(sorted, view.modSeqs) : null
  const numberAt = (/** @type {number} */ index) => {
    const slot = /** @type {number} */ (sorted[index])
    return isUid ? /** @type {number} */ (view.uids[slot]) : selected.sequenceOfSlot(slot)
  }
  if (returns === null) {
    const pieces = compileNumberList('SORT', sorted.length, numberAt, { modSeq })
    await writeLongAnswer(session, pieces)
  } else {
    if (returns.options.includes('SAVE')) save(session, sorted)
    const numbers = sorted.map((_, index) => numberAt(index))
    await answer(session, { tag, isUid, numbers, returns, modSeq })
  }
  return { text: `${isUid ? 'UID SORT' : 'SORT'} completed` }
}

/**
 * @param {Session} session
 * @param {Pick<SortArgs, 'key' | 'criteria'>} what
 * @returns {Promise<number[]>} slots, in order
 */
async function findAndSort(session, { key, criteria }) {
  return await sortMessages({
    store: session.store,
    view: session.requireSelected().view,
    slots: await findMessages(session, key),
    criteria,
    signal: session.connection.closeSignal
  })
}

/**
 * RFC 5267 §3.1: the options of ESEARCH, with the order of the sort in place of that of the mailbox.
 *
 * @param {Session} session
 * @param {object} answer
 * @param {string} answer.tag - of the command
 * @param {boolean} answer.isUid
 * @param {number[]} answer.numbers - in order
 * @param {SearchReturn} answer.returns
 * @param {number | null} answer.modSeq
 */
async function answer(session, { tag, isUid, numbers, returns: { options, partial }, modSeq }) {
  if (options.length === 1 && options[0] === 'SAVE' && partial === null) return
  const isAll = options.includes('ALL') || (options.length === 0 && partial === null)
  await writeLongAnswer(
    session,
    compileEsearch({
      tag,
      isUid,
      min: options.includes('MIN') ? (numbers[0] ?? null) : null,
      max: options.includes('MAX') ? (numbers.at(-1) ?? null) : null,
      all: isAll ? numbers : null,
      count: options.includes('COUNT') ? numbers.length : null,
      partial: partial === null ? null : { range: partial, numbers: takePage(numbers, partial) },
      modSeq
    })
  )
}

/**
 * RFC 5182 §2.1: `$` has no order.
 *
 * @param {Session} session
 * @param {readonly number[]} sorted - slots
 */
function save(session, sorted) {
  const selected = session.requireSelected()
  const slots = [...sorted].sort((left, right) => left - right)
  selected.savedResult = new SavedResult(
    slots.map((slot) => /** @type {number} */ (selected.view.uids[slot]))
  )
}
