/**
 * AUTHENTICATE by SASL: PLAIN and LOGIN, with or without an initial response.
 *
 * State: not authenticated; needs TLS, except from loopback where the configuration says so.
 * Command: RFC 3501 §6.2.2, RFC 9051 §6.2.2; RFC 4959 §3 (SASL-IR).
 */
import { MailError } from '../../../errors.js'
import { logIn, MECHANISMS, requirePrivacy } from '../authenticate.js'
import { NOT_AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const authenticate = {
  name: 'AUTHENTICATE',
  states: NOT_AUTHENTICATED,
  allowsExpunge: false,
  async run(
    session,
    /** @type {{ mechanism: string, initialResponse: Buffer | null }} */ {
      mechanism,
      initialResponse
    }
  ) {
    try {
      requirePrivacy(session)
      const converse = MECHANISMS.get(mechanism)
      if (converse === undefined) throw new MailError('MECHANISM_UNKNOWN')
      return await logIn(session, await converse(session, initialResponse), 'AUTHENTICATE')
    } finally {
      initialResponse?.fill(0)
    }
  }
}
