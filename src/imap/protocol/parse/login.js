/** LOGIN, RFC 9051 §6.2.3: `login = "LOGIN" SP userid SP password`. */
import { secretBytes } from '../../../support/secret-bytes.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @typedef {object} LoginArguments
 * @property {string} username
 * @property {Buffer} password - memory of its own, for the caller to zero; the received bytes are zeroed here
 */

/**
 * @param {Arguments} args
 * @returns {LoginArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseLogin(args) {
  try {
    const username = args.astring().toString()
    const received = args.astring()
    args.end()
    const password = secretBytes(received.length)
    received.copy(password)
    return { username, password }
  } finally {
    // Zeroed also where the command is refused: a password with a space in it is too many arguments.
    args.zero()
  }
}
