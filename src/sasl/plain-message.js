/**
 * The only message of SASL PLAIN: authorization identity, NUL, name, NUL, password (RFC 4616 §2).
 */
import { MailError } from '../errors.js'
import { secretBytes } from '../support/secret-bytes.js'

/**
 * @param {Buffer} message - zeroed here
 * @returns {{ username: string, password: Buffer } | null} `password`: of its own memory, whoever takes it zeroes it; null: it is
 *   no such message
 * @throws {MailError} AUTHENTICATION_FAILED where the authorization identity is another: nobody acts for others here
 */
export function readPlainMessage(message) {
  try {
    const first = message.indexOf(0)
    const second = first < 0 ? -1 : message.indexOf(0, first + 1)
    if (second < 0 || message.includes(0, second + 1)) return null
    const authorization = message.toString('utf8', 0, first)
    const username = message.toString('utf8', first + 1, second)
    if (authorization !== '' && authorization !== username)
      throw new MailError('AUTHENTICATION_FAILED', { detail: 'authorization identity differs' })
    const password = secretBytes(message.length - second - 1)
    message.copy(password, 0, second + 1)
    return { username, password }
  } finally {
    message.fill(0)
  }
}
