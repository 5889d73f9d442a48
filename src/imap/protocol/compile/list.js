/** LIST and LSUB responses, RFC 9051 §7.3.1, RFC 3501 §7.2.3; extended items RFC 5258 §6, OLDNAME RFC 9051 §6.3.9.7. */
import { encodeMailboxName, HIERARCHY_DELIMITER } from '../values/mailbox-name.js'
import { compileString } from './quoted.js'

/**
 * @typedef {object} ListEntry
 * @property {string} name
 * @property {readonly string[]} attributes - `\HasNoChildren`, `\Sent`, …
 * @property {readonly string[]} [childInfo] - the selection options that mailboxes below this one meet, RFC 5258 §3.5
 * @property {string | null} [oldName] - another name that the client has for it
 */

/**
 * @param {ListEntry} entry - an empty name is the answer to `LIST "" ""`
 * @param {{ isUtf8: boolean, response?: 'LIST' | 'LSUB' }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {Buffer}
 */
export function compileList(entry, { isUtf8, response = 'LIST' }) {
  const attributes = `(${entry.attributes.join(' ')})`
  const pieces = [
    ascii(`* ${response} ${attributes} "${HIERARCHY_DELIMITER}" `),
    encodeMailboxName(entry.name, { isUtf8 })
  ]
  const { childInfo = [], oldName = null } = entry
  if (childInfo.length > 0) {
    const options = childInfo.map((option) => compileString(option).toString('latin1'))
    pieces.push(ascii(` (CHILDINFO (${options.join(' ')}))`))
  }
  if (oldName !== null)
    pieces.push(ascii(' ("OLDNAME" ('), encodeMailboxName(oldName, { isUtf8 }), ascii('))'))
  pieces.push(ascii('\r\n'))
  return Buffer.concat(pieces)
}

/** @param {string} text */
const ascii = (text) => Buffer.from(text, 'latin1')
