/**
 * CHECK asks for a checkpoint of the mailbox. Everything acknowledged is durable already, so it is a NOOP.
 *
 * State: selected.
 * Command: RFC 3501 §6.4.1.
 */
import { SELECTED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const check = {
  name: 'CHECK',
  states: SELECTED,
  allowsExpunge: true,
  async run() {
    return { text: 'CHECK completed' }
  }
}
