/**
 * NAMESPACE says where mailboxes live: one personal namespace without a prefix, nobody else's, nothing shared.
 *
 * State: authenticated, selected.
 * Command and response: RFC 2342 §5, RFC 9051 §6.3.10.
 */
import { compileNamespace } from '../../protocol/compile/untagged.js'
import { HIERARCHY_DELIMITER } from '../../protocol/values/mailbox-name.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const namespace = {
  name: 'NAMESPACE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session) {
    session.write(compileNamespace({ prefix: '', delimiter: HIERARCHY_DELIMITER }))
    return { text: 'NAMESPACE completed' }
  }
}
