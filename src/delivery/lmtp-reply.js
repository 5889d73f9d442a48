/**
 * What LMTP answers (RFC 2033 §4.2, RFC 5321 §4.2, RFC 3463): the table of refusals, and which one an
 * error becomes. The texts name no address and no cause.
 */

import { MailError } from '../errors.js'

/** @typedef {{ code: number, status: string, text: string }} Reply */

/** @satisfies {Record<string, Reply>} */
export const REFUSALS = Object.freeze({
  unknownRecipient: { code: 550, status: '5.1.1', text: 'No such recipient here' },
  noAccounts: { code: 451, status: '4.3.0', text: 'No mailbox here yet' },
  disabledAccount: { code: 550, status: '5.2.1', text: 'The mailbox is disabled' },
  mailboxFull: { code: 452, status: '4.2.2', text: 'The mailbox is full' },
  mailboxFullForGood: { code: 552, status: '5.2.2', text: 'The mailbox is full' },
  messageTooBig: {
    code: 552,
    status: '5.3.4',
    text: 'The message is larger than this server accepts'
  },
  tooManyRecipients: { code: 452, status: '4.5.3', text: 'Too many recipients' },
  diskFull: { code: 452, status: '4.3.1', text: 'There is no room on the disk' },
  overloaded: { code: 421, status: '4.3.2', text: 'Busy beyond its means, come back later' },
  notSealed: { code: 451, status: '4.7.5', text: 'The message could not be sealed' },
  localTrouble: { code: 451, status: '4.3.0', text: 'The message could not be stored' }
})

/** A refusal in the shape that smtp-server sends: code and text. */
export class LmtpRefusal extends Error {
  /** @param {Reply} reply */
  constructor({ code, status, text }) {
    super(`${status} ${text}`)
    this.name = 'LmtpRefusal'
    this.responseCode = code
  }
}

/**
 * @param {unknown} error
 * @returns {LmtpRefusal} a refusal as it is; for any other error a temporary one, so that the sender keeps the message
 */
export function refusalOf(error) {
  if (error instanceof LmtpRefusal) return error
  const code = error instanceof MailError ? error.code : null
  if (code === 'DISK_FULL') return new LmtpRefusal(REFUSALS.diskFull)
  if (code === 'SEAL_FAILED') return new LmtpRefusal(REFUSALS.notSealed)
  return new LmtpRefusal(REFUSALS.localTrouble)
}

/**
 * @param {unknown} text - of a reply
 * @returns {boolean} whether it begins with an enhanced status code of its own (RFC 2034 §4)
 */
export function hasEnhancedStatus(text) {
  return typeof text === 'string' && /^[245]\.\d{1,3}\.\d{1,3} /.test(text)
}
