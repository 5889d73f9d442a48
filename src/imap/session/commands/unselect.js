/**
 * UNSELECT leaves the mailbox and expunges nothing.
 *
 * State: selected.
 * Command: RFC 3691 §2, RFC 9051 §6.4.2.
 */
import { SELECTED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const unselect = {
  name: 'UNSELECT',
  states: SELECTED,
  leavesMailbox: true,
  allowsExpunge: false,
  async run(session) {
    session.unselect()
    return { text: 'UNSELECT completed' }
  }
}
