/**
 * Where an account is copied from: `imaps://user@host:port`. The user is part of the address, the password never is:
 * everybody on the machine can read a command line.
 */
import { MailError } from '../../errors.js'
import { isLoopback } from '../../support/loopback.js'

/**
 * @typedef {object} SourceServer
 * @property {string} host
 * @property {number} port
 * @property {boolean} isTls - true: TLS from the first byte; false: STARTTLS
 * @property {string} user
 * @property {string} name - `user@host`, by which later runs know the source; without the port, because IMAP and IMAPS show the
 *   same mail
 */

const PORTS = /** @type {Record<string, number>} */ ({ 'imaps:': 993, 'imap:': 143 })

/**
 * @param {string} text - `imaps://user@host[:port]` or `imap://…`; special characters of the user as %40 and so on
 * @returns {SourceServer}
 * @throws {MailError} ADDRESS_INVALID
 */
export function parseSourceServer(text) {
  const url = URL.canParse(text) ? new URL(text) : null
  const refuse = (/** @type {string} */ detail) => new MailError('ADDRESS_INVALID', { detail })
  const port = url && PORTS[url.protocol]
  if (!url || !port) throw refuse('write imaps://user@host or imap://user@host')
  if (url.password !== '') throw refuse('a password has no place in the address')
  if (url.username === '' || url.hostname === '') throw refuse('the user or the host is missing')
  const user = decodeUser(url.username)
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return {
    host,
    port: Number(url.port) || port,
    isTls: url.protocol === 'imaps:',
    user,
    name: `${user}@${host}`
  }
}

/**
 * @param {string} text
 * @returns {string}
 * @throws {MailError} ADDRESS_INVALID
 */
function decodeUser(text) {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new MailError('ADDRESS_INVALID', { detail: 'the user has a broken % sequence', cause })
  }
}

/**
 * @param {SourceServer} server
 * @returns {boolean} whether it is this machine, where a password may cross without TLS
 */
export function isLocal({ host }) {
  return host === 'localhost' || isLoopback(host)
}
