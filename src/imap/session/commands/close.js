/**
 * CLOSE expunges what is marked \Deleted, without telling, and leaves the mailbox. After EXAMINE, and for a credential
 * that may only read, nothing is expunged. RFC 3501 §6.4.2 knows no NO: a mailbox that another session has deleted is left
 * as any other.
 *
 * State: selected.
 * Command: RFC 3501 §6.4.2, RFC 9051 §6.4.1.
 */
import { isMailError, MailError } from '../../../errors.js'
import { SELECTED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @type {Command} */
export const close = {
  name: 'CLOSE',
  states: SELECTED,
  leavesMailbox: true,
  allowsExpunge: false,
  async run(session) {
    const selected = session.requireSelected()
    const { store, origin } = session
    try {
      if (!selected.isReadOnly) {
        await takeNews(session)
        const request = { view: selected.view, uids: null, origin }
        await session.whileWorking(() => store.expunge(request))
      }
    } catch (error) {
      if (!isMailError(error, 'MAILBOX_NOT_FOUND')) throw error
    } finally {
      session.unselect()
    }
    return { text: 'CLOSE completed' }
  }
}

/**
 * Takes in the changes of other processes, so that messages which they have marked go as well. Where these cannot be read, only
 * the known ones go.
 *
 * @param {Session} session
 */
async function takeNews(session) {
  try {
    await session.pollOtherProcesses(false)
  } catch (error) {
    if (!(error instanceof MailError)) throw error
  }
}
