/**
 * NOOP does nothing, and so is the moment to hear what has happened.
 *
 * State: any.
 * Command: RFC 3501 §6.1.2, RFC 9051 §6.1.2.
 */
import { ANY_STATE } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const noop = {
  name: 'NOOP',
  states: ANY_STATE,
  allowsExpunge: true,
  async run() {
    return { text: 'NOOP completed' }
  }
}
