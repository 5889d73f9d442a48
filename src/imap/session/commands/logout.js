/**
 * LOGOUT ends the session. Messages marked \Deleted stay (only CLOSE expunges).
 *
 * State: any.
 * Command: RFC 3501 §6.1.3, RFC 9051 §6.1.3. Response: BYE, RFC 3501 §7.1.5.
 */
import { ANY_STATE } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const logout = {
  name: 'LOGOUT',
  states: ANY_STATE,
  leavesMailbox: true,
  allowsExpunge: true,
  async run(session) {
    session.untagged('BYE', null, 'Logging out')
    session.state = 'logout'
    return { text: 'LOGOUT completed' }
  }
}
