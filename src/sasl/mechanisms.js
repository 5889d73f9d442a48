/**
 * SASL PLAIN and LOGIN, one response of the client after the other.
 */
import { MailError } from '../errors.js'
import { decodeBase64 } from '../imap/protocol/parse/index.js'
import { readPlainMessage } from './plain-message.js'

/**
 * @typedef {object} Credentials
 * @property {string} username
 * @property {Buffer} password - of its own memory; whoever takes it zeroes it
 *
 * @typedef {{ challenge: string } | { credentials: Credentials }} Step - what the client is asked, or what it has said
 *
 * @typedef {object} Dialogue
 * @property {() => Step} begin - for a client that has sent no initial response
 * @property {(response: Buffer) => Step} answer - throws a MailError AUTHENTICATION_FAILED, or a SyntaxFailure for
 *   what is no base64 or no message of the mechanism
 */

/** The mechanisms; the handshake says of both that they carry the password in the clear (`plaintext`). */
export const MECHANISM_NAMES = Object.freeze(['PLAIN', 'LOGIN'])

/**
 * @param {string} mechanism - in any case
 * @returns {Dialogue | null} null for one that is not offered
 */
export function startDialogue(mechanism) {
  const name = mechanism.toUpperCase()
  if (name === 'PLAIN') return plainDialogue
  return name === 'LOGIN' ? loginDialogue() : null
}

/**
 * PLAIN: all in one message.
 *
 * @type {Dialogue}
 */
const plainDialogue = {
  begin: () => ({ challenge: '' }),
  answer(response) {
    const credentials = readPlainMessage(decodeBase64(response))
    if (credentials === null)
      throw new MailError('AUTHENTICATION_FAILED', { detail: 'no message of the mechanism' })
    return { credentials }
  }
}

/**
 * LOGIN: name and password one after the other (draft-murchison-sasl-login §2).
 *
 * @returns {Dialogue}
 */
function loginDialogue() {
  /** @type {string | null} */
  let username = null
  return {
    begin: () => ({ challenge: 'Username:' }),
    answer(response) {
      const text = decodeBase64(response)
      if (username !== null) return { credentials: { username, password: text } }
      username = text.toString('utf8')
      return { challenge: 'Password:' }
    }
  }
}
