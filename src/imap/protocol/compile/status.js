/** STATUS responses, RFC 9051 §7.3.3. */
import { encodeMailboxName } from '../values/mailbox-name.js'

/**
 * @param {string} name - of the mailbox
 * @param {Iterable<[string, number | string]>} items - in the order of the request; a string is sent as it is
 * @param {{ isUtf8: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {Buffer}
 */
export function compileStatus(name, items, { isUtf8 }) {
  const pairs = [...items].map(([item, value]) => `${item} ${value}`)
  return Buffer.concat([
    Buffer.from('* STATUS '),
    encodeMailboxName(name, { isUtf8 }),
    Buffer.from(` (${pairs.join(' ')})\r\n`)
  ])
}
