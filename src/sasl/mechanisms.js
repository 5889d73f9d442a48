/**
 * SASL PLAIN and LOGIN, one response of the client after the other.
 */
import { MailError } from '../errors.js'
import { decodeBase64 } from '../imap/protocol/parse/index.js'
import { secretBytes } from '../support/secret-bytes.js'

/**
 * @typedef {object} Credentials
 * @property {string} username
 * @property {Buffer} password - of its own memory; whoever takes it zeroes it
 *
 * @typedef {{ challenge: string } | { credentials: Credentials }} Step - what the client is asked, or what it has said
 *
 * @typedef {object} Dialogue
 * @property {() => Step} begin - where the client has sent nothing along
 * @property {(response: Buffer) => Step} answer - throws a MailError AUTHENTICATION_FAILED, or a SyntaxFailure for
 *   what is no base64 or no message of the mechanism
 */

/** What the handshake says of both: a password in the clear goes through them. */
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

const refuse = () =>
  new MailError('AUTHENTICATION_FAILED', { detail: 'no message of the mechanism' })

/**
 * Authorization identity, NUL, name, NUL, password (RFC 4616 §2).
 *
 * @type {Dialogue}
 */
const plainDialogue = {
  begin: () => ({ challenge: '' }),
  answer(response) {
    const message = decodeBase64(response)
    try {
      const first = message.indexOf(0)
      const second = first < 0 ? -1 : message.indexOf(0, first + 1)
      if (second < 0 || message.includes(0, second + 1)) throw refuse()
      const authorization = message.toString('utf8', 0, first)
      const username = message.toString('utf8', first + 1, second)
      // Nobody acts for somebody else here.
      if (authorization !== '' && authorization !== username) throw refuse()
      const password = secretBytes(message.length - second - 1)
      message.copy(password, 0, second + 1)
      return { credentials: { username, password } }
    } finally {
      message.fill(0)
    }
  }
}

/**
 * Name and password one after the other (draft-murchison-sasl-login §2).
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
