/**
 * CAPABILITY says what the server can do in the session's present state.
 *
 * State: any.
 * Command: RFC 3501 §6.1.1, RFC 9051 §6.1.1. Response: RFC 3501 §7.2.1.
 */
import { compileCapability } from '../../protocol/compile/untagged.js'
import { ANY_STATE } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const capability = {
  name: 'CAPABILITY',
  states: ANY_STATE,
  allowsExpunge: true,
  async run(session) {
    session.write(compileCapability(session.capabilities))
    return { text: 'CAPABILITY completed' }
  }
}
