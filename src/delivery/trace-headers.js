/**
 * The header fields that final delivery puts before a message (RFC 5321 §4.4): Return-Path, Delivered-To,
 * Received. They say what the RFC asks for and no more: no `for` clause, because Delivered-To has the
 * recipient, and `for` would show the address of one recipient to another; no TLS details.
 */

import { domainToASCII } from 'node:url'

/** A name that a client may give itself: a domain or an address literal (RFC 5321 §4.1.3). */
const HOST_NAME = /^[\w.:[\]-]{1,255}$/
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/**
 * @typedef {object} TraceFacts
 * @property {string} sender - empty for a bounce
 * @property {string} recipient - as it was given
 * @property {string} clientName - what the client called itself
 * @property {string} clientAddress - the client's IP address
 * @property {string} serverName
 * @property {string} transactionId
 * @property {number} receivedAtMs
 * @property {boolean} isSecure - whether the connection has TLS
 * @property {boolean} isUtf8 - whether the client asked for SMTPUTF8
 */

/**
 * @param {TraceFacts} facts
 * @returns {Buffer}
 */
export function traceHeaders(facts) {
  const { sender, recipient, clientName, clientAddress, serverName, transactionId } = facts
  // RFC 3848 and RFC 6531 §4.3 name the protocols.
  const protocol = `${facts.isUtf8 ? 'UTF8' : ''}LMTP${facts.isSecure ? 'S' : ''}`
  const from = HOST_NAME.test(clientName) ? clientName : 'unknown'
  return Buffer.from(
    `Return-Path: <${wireAddress(sender, facts.isUtf8)}>\r\n` +
      `Delivered-To: ${wireAddress(recipient, facts.isUtf8)}\r\n` +
      `Received: from ${from} (${addressLiteral(clientAddress)})\r\n` +
      `\tby ${serverName} with ${protocol} id ${transactionId};\r\n` +
      `\t${mailDate(facts.receivedAtMs)}\r\n`,
    'utf8'
  )
}

/**
 * smtp-server hands over every domain in Unicode; a sender without SMTPUTF8 wrote it in ASCII.
 *
 * @param {string} address
 * @param {boolean} isUtf8
 * @returns {string} as it stood on the wire
 */
export function wireAddress(address, isUtf8) {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  // eslint-disable-next-line no-control-regex
  if (isUtf8 || at === -1 || /^[\x00-\x7f]*$/.test(domain)) return address
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`
}

/** @param {string} address - IPv4 or IPv6 */
function addressLiteral(address) {
  return address.includes(':') ? `[IPv6:${address}]` : `[${address}]`
}

/** @param {number} epochMs */
function mailDate(epochMs) {
  const date = new Date(epochMs)
  /** @param {number} value */
  const two = (value) => String(value).padStart(2, '0')
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  const day = `${DAYS[date.getUTCDay()]}, ${two(date.getUTCDate())} ${MONTHS[date.getUTCMonth()]}`
  return `${day} ${date.getUTCFullYear()} ${time} +0000`
}
