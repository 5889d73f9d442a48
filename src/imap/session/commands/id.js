/**
 * ID exchanges program names. What the client says is of no use to us and is not kept.
 *
 * State: any.
 * Command and response: RFC 2971 §3.1, §3.2. Outlook fails to log in on an odd answer, so it is a plain list.
 */
import { compileId } from '../../protocol/compile/untagged.js'
import { ANY_STATE } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/**
 * No version: it would tell a stranger what to try.
 *
 * @type {readonly [string, string][]}
 */
const SERVER_ID = [
  ['name', 'Letterlock'],
  ['vendor', 'Letterlock']
]

/** @type {Command} */
export const id = {
  name: 'ID',
  states: ANY_STATE,
  allowsExpunge: true,
  async run(session) {
    session.write(compileId(SERVER_ID))
    return { text: 'ID completed' }
  }
}
