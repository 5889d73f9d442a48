/**
 * SORT and UID SORT find messages and put them in order. A client that goes away ends its sort.
 *
 * State: selected.
 * Command: RFC 5256 §3 (BASE.6.4.SORT); RFC 5957 §4 (DISPLAYFROM, DISPLAYTO); RFC 5267 §3.1 (RETURN), RFC 9394 §3.1
 * (PARTIAL). Responses: RFC 5256 §4 (SORT), RFC 5267 §3.2 (ESEARCH), RFC 7162 §3.1.6 (MODSEQ).
 */
import { sortMessages } from '../../../store/sort/sort-messages.js'
import { answerSearch, forgetSaved } from '../search-answer.js'
import { findMessages, stillThere } from '../search-query.js'
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
  const command = { name: /** @type {const} */ ('SORT'), tag, isUid, key, returns }
  return await answerSearch(session, command, () => findAndSort(session, { key, criteria }))
}

/**
 * @param {Session} session
 * @param {Pick<SortArgs, 'key' | 'criteria'>} what
 * @returns {Promise<number[]>} slots of the messages that are still there, in order
 */
async function findAndSort(session, { key, criteria }) {
  const { store, connection } = session
  const { view } = session.requireSelected()
  const slots = await findMessages(session, key)
  const sorted = await session.whileWorking(() =>
    sortMessages({ store, view, slots, criteria, signal: connection.closeSignal })
  )
  return stillThere(view, sorted)
}
