/**
 * THREAD and UID THREAD find messages and gather them into conversations. A client that goes away ends its command.
 *
 * State: selected.
 * Command: RFC 5256 §3 (BASE.6.4.THREAD). Response: RFC 5256 §4.
 */
import { threadMessages } from '../../../store/threading/thread-messages.js'
import { compileThread } from '../../protocol/compile/thread.js'
import { writeLongAnswer } from '../long-answer.js'
import { findMessages, hasMessageNumbers, hasModSeq } from '../search-query.js'
import { SELECTED } from '../states.js'

/** @import { Command, CommandResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['THREAD']} ThreadArgs */

/** @type {Command} */
export const thread = {
  name: 'THREAD',
  states: SELECTED,
  allowsExpunge: false,
  run: threadMailbox
}

/** @type {Command} */
export const uidThread = {
  name: 'UID THREAD',
  states: SELECTED,
  allowsExpunge: true,
  run: threadMailbox
}

/**
 * @param {Session} session
 * @param {ThreadArgs} args
 * @returns {Promise<CommandResult>}
 */
async function threadMailbox(session, { isUid, algorithm, key }) {
  const selected = session.requireSelected()
  const { view } = selected
  if (hasModSeq(key)) session.enableCondstore()
  const { store, connection } = session
  const slots = await findMessages(session, key)
  const threads = await session.whileWorking(() =>
    threadMessages({ store, view, slots, algorithm, signal: connection.closeSignal })
  )
  const pieces = compileThread(threads, (slot) =>
    isUid ? /** @type {number} */ (view.uids[slot]) : selected.sequenceOfSlot(slot)
  )
  await writeLongAnswer(session, pieces)
  return {
    text: `${isUid ? 'UID THREAD' : 'THREAD'} completed`,
    holdsExpunges: hasMessageNumbers(key)
  }
}
