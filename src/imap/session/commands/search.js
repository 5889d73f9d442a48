/**
 * SEARCH and UID SEARCH find messages. A client that goes away ends its search.
 *
 * State: selected.
 * Command: RFC 3501 §6.4.4, RFC 9051 §6.4.4; RFC 7162 §3.1.5 (MODSEQ). Response: RFC 3501 §7.2.5. The charset is the
 * parser's business: NO [BADCHARSET].
 */
import { compileSearch } from '../../protocol/compile/search.js'
import { badSyntax } from '../../protocol/syntax-failure.js'
import { searchMessages } from '../../../store/search/evaluate.js'
import { SELECTED } from '../states.js'

/** @import { SearchKey } from '../../protocol/values/search-key.js' */
/** @import { Command, CommandResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['SEARCH']} SearchArgs */

/** @type {Command} */
export const search = {
  name: 'SEARCH',
  states: SELECTED,
  allowsExpunge: false,
  run: searchMailbox
}

/** @type {Command} */
export const uidSearch = {
  name: 'UID SEARCH',
  states: SELECTED,
  allowsExpunge: true,
  run: searchMailbox
}

/**
 * @param {Session} session
 * @param {SearchArgs} args
 * @returns {Promise<CommandResult>}
 */
async function searchMailbox(session, { isUid, key, returns }) {
  if (returns !== null) throw badSyntax('RETURN is not supported')
  const selected = session.requireSelected()
  const { view } = selected
  const asksModSeq = hasModSeq(key)
  if (asksModSeq) session.enableCondstore()
  const { store, context, connection } = session
  const found = await searchMessages({
    store,
    view,
    key,
    selected,
    clock: context.clock,
    signal: connection.closeSignal
  })
  const slots = found.filter((slot) => !view.isExpunged(slot))
  const numbers = slots.map((slot) =>
    isUid ? /** @type {number} */ (view.uids[slot]) : selected.sequenceOfSlot(slot)
  )
  const highest = slots.reduce((top, slot) => Math.max(top, view.modSeqs[slot] ?? 0), 0)
  session.write(compileSearch(numbers, { modSeq: asksModSeq && slots.length > 0 ? highest : null }))
  return { text: `${isUid ? 'UID SEARCH' : 'SEARCH'} completed` }
}

/**
 * @param {SearchKey} key
 * @returns {boolean} whether MODSEQ is among the keys
 */
function hasModSeq(key) {
  switch (key.op) {
    case 'and':
      return key.keys.some(hasModSeq)
    case 'or':
      return hasModSeq(key.left) || hasModSeq(key.right)
    case 'not':
      return hasModSeq(key.key)
    default:
      return key.op === 'modseq'
  }
}
