/**
 * LOGIN with a name and a password.
 *
 * State: not authenticated; needs TLS, except from loopback where the configuration says so.
 * Command: RFC 3501 §6.2.3, RFC 9051 §6.2.3. Responses: RFC 5530 §3 (AUTHENTICATIONFAILED, PRIVACYREQUIRED).
 */
import { logIn, requirePrivacy } from '../authenticate.js'
import { NOT_AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { PlainCredentials } from '../authenticate.js' */

/** @type {Command} */
export const login = {
  name: 'LOGIN',
  states: NOT_AUTHENTICATED,
  allowsExpunge: false,
  async run(session, /** @type {PlainCredentials} */ credentials) {
    try {
      requirePrivacy(session)
      return await logIn(session, credentials, 'LOGIN')
    } finally {
      credentials.password.fill(0)
    }
  }
}
