/**
 * Which names a mailbox may have. Levels are divided by '/'; INBOX is one name in any case (RFC 9051 §5.1).
 */
import { MailError } from '../errors.js'
import { LIMITS } from '../imap/protocol/limits.js'
import { composed } from '../support/composed.js'

/** Hierarchy delimiter. */
export const DELIMITER = '/'

/** Levels of a name: more is a client that loops. */
const MAX_LEVELS = 40

/** C0, C1 and DEL: never in a name (RFC 9051 §5.1, Net-Unicode). */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** As the first level. Without the flag `u`, the case of ASCII letters alone is ignored: ı is no I. */
const INBOX = /^inbox(?=\/|$)/i

/**
 * @param {string} name
 * @returns {string} the one spelling under which it is stored: INBOX in capitals, also as the first level
 */
export function normalizeMailboxName(name) {
  return name.replace(INBOX, 'INBOX')
}

/**
 * @param {string} name - maybe with a trailing delimiter, which only says that children will follow (RFC 9051 §6.3.4)
 * @returns {string} normalised, without it
 */
export function bareMailboxName(name) {
  return normalizeMailboxName(name.endsWith(DELIMITER) ? name.slice(0, -1) : name)
}

/**
 * For a name that a person has typed.
 *
 * @param {string} name
 * @returns {string} as the store has it: normalised, composed (NFC), without a trailing delimiter
 */
export const storedMailboxName = (name) => composed(bareMailboxName(name))

/**
 * For a name that is to be made. It is composed (NFC), as mail programs' names are once they have come in: by another
 * spelling nobody would find it.
 *
 * @param {string} name
 * @returns {string} normalised, without a trailing delimiter
 * @throws {MailError} CANNOT for a name that no mailbox may have; LIMIT for one that is too long
 */
export function requireMailboxName(name) {
  const normal = storedMailboxName(name)
  const levels = normal.split(DELIMITER)
  if (levels.includes('') || CONTROL.test(normal) || !normal.isWellFormed())
    throw new MailError('CANNOT', { detail: 'mailbox name' })
  if (!isShortEnough(normal)) throw new MailError('LIMIT', { detail: 'mailbox name too long' })
  return normal
}

/**
 * @param {string} name
 * @returns {boolean} whether a mailbox may have a name of this length
 */
export const isShortEnough = (name) =>
  Buffer.byteLength(name) <= LIMITS.mailboxNameBytes && name.split(DELIMITER).length <= MAX_LEVELS
