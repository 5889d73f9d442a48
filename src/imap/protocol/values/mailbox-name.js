/**
 * Mailbox names: Unicode inside; on the wire modified UTF-7 (RFC 3501 §5.1.3) or, after ENABLE UTF8=ACCEPT or IMAP4rev2,
 * UTF-8 (RFC 6855 §3, RFC 9051 §5.1), where `&` stands for itself. The first component INBOX is INBOX in any case (RFC
 * 9051 §5.1).
 */
import { isUtf8 as isUtf8Bytes } from 'node:buffer'
import { ATOM_CHARACTER, isAll, LEFT_BRACKET } from '../character.js'
import { compileString } from '../compile/quoted.js'
import { LIMITS } from '../limits.js'
import { SyntaxFailure } from '../syntax-failure.js'
import { decodeUtf7, encodeUtf7 } from './modified-utf7.js'
import { composed } from '../../../support/composed.js'

/** What separates the components of a mailbox name. */
export const HIERARCHY_DELIMITER = '/'

/** Characters not in Net-Unicode names, RFC 6855 §3 and RFC 9051 §5.1: control characters, line and paragraph separators. */
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** INBOX as the first level. Without the flag `u`, the case of ASCII letters alone is ignored: ı is no I. */
const INBOX = /^inbox(?=\/|$)/i

/**
 * @param {Buffer} bytes - the argument as sent
 * @param {{ isUtf8: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {string} in Unicode normalization form C, INBOX in upper case
 * @throws {SyntaxFailure} BAD_MAILBOX_NAME
 */
export function decodeMailboxName(bytes, { isUtf8 }) {
  const name = decodeName(bytes, isUtf8)
  if (name === '') throw badName('A mailbox name must not be empty')
  if (Buffer.byteLength(name) > LIMITS.mailboxNameBytes)
    throw badName('The mailbox name is too long')
  return canonicalInbox(name)
}

/**
 * A reference or pattern of LIST and LSUB: it may be empty, and keeps the case of INBOX.
 * @param {Buffer} bytes - the argument as sent
 * @param {{ isUtf8: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {string}
 * @throws {SyntaxFailure} BAD_MAILBOX_NAME
 */
export function decodeMailboxPattern(bytes, { isUtf8 }) {
  const pattern = decodeName(bytes, isUtf8)
  if (Buffer.byteLength(pattern) > LIMITS.mailboxNameBytes)
    throw badName('The mailbox name is too long')
  return pattern
}

/**
 * @param {string} name
 * @param {{ isUtf8: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {Buffer} for the wire: an atom, a quoted string or a literal
 */
export function encodeMailboxName(name, { isUtf8 }) {
  const bytes = isUtf8 ? Buffer.from(name) : Buffer.from(encodeUtf7(name), 'latin1')
  const isAtom = bytes.length > 0 && isAll(ATOM_CHARACTER, bytes) && !isNil(bytes)
  // Python's IMAPClient takes what follows a bracket up to the closing one for a section: it could list no mailbox at all.
  if (isAtom && !bytes.includes(LEFT_BRACKET)) return bytes
  return compileString(bytes, { isUtf8 })
}

/**
 * @param {string} name
 * @returns {string} with a first component `inbox` in upper case
 */
export function canonicalInbox(name) {
  return name.replace(INBOX, 'INBOX')
}

/**
 * @param {Buffer} bytes
 * @param {boolean} isUtf8
 * @returns {string}
 */
function decodeName(bytes, isUtf8) {
  const name = decodeBytes(bytes, isUtf8)
  if (name === null || FORBIDDEN.test(name) || !name.isWellFormed())
    throw badName('Invalid mailbox name')
  return composed(name)
}

/**
 * Some clients send UTF-8 without having enabled it, go-imap as soon as IMAP4rev2 is announced. Clients that know modified
 * UTF-7, as go-imap does, still write `&-` for `&`; others write the name as it is.
 * @param {Buffer} bytes
 * @param {boolean} isUtf8
 * @returns {string | null}
 */
function decodeBytes(bytes, isUtf8) {
  if (!isUtf8Bytes(bytes)) return null
  const text = bytes.toString()
  if (isUtf8) return text
  const is8Bit = bytes.some((byte) => byte >= 128)
  return decodeUtf7(text) ?? (is8Bit ? text : null)
}

/** @param {Buffer} bytes */
const isNil = (bytes) => bytes.length === 3 && bytes.toString('latin1').toUpperCase() === 'NIL'

/** @param {string} text */
const badName = (text) => new SyntaxFailure('BAD_MAILBOX_NAME', text)
