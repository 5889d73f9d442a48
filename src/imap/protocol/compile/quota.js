/** QUOTA and QUOTAROOT responses, RFC 9208 §4.2. */
import { encodeMailboxName } from '../values/mailbox-name.js'
import { compileString } from './quoted.js'

/**
 * @typedef {object} QuotaResource
 * @property {'STORAGE' | 'MESSAGE'} name - RFC 9208 §5
 * @property {number} used - in the resource's own units
 * @property {number} limit
 */

/**
 * @param {string} root
 * @param {readonly QuotaResource[]} resources - at least one
 * @returns {Buffer} RFC 9208 §4.2.1
 */
export function compileQuota(root, resources) {
  const list = resources.map(({ name, used, limit }) => `${name} ${used} ${limit}`).join(' ')
  return Buffer.concat([
    Buffer.from('* QUOTA '),
    compileString(root),
    Buffer.from(` (${list})\r\n`)
  ])
}

/**
 * @param {string} mailbox
 * @param {readonly string[]} roots - may be none
 * @param {{ isUtf8: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {Buffer} RFC 9208 §4.2.2
 */
export function compileQuotaRoot(mailbox, roots, { isUtf8 }) {
  return Buffer.concat([
    Buffer.from('* QUOTAROOT '),
    encodeMailboxName(mailbox, { isUtf8 }),
    ...roots.flatMap((root) => [Buffer.from(' '), compileString(root)]),
    Buffer.from('\r\n')
  ])
}
