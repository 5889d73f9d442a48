/**
 * How much an account may hold. Each copy of a message counts, as RFC 9208 §5.1 has it, whatever is shared on disk.
 */
import { MailError } from '../errors.js'
import { readUsage } from './mailbox-rows.js'

/**
 * @typedef {object} Quota
 * @property {number | null} bytes - null: no limit
 * @property {number | null} messages - null: no limit
 */

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {Quota} quota
 * @param {{ bytes: number, messages: number }} added
 * @throws {MailError} OVER_QUOTA
 */
export function requireQuota(db, quota, added) {
  if (quota.bytes === null && quota.messages === null) return
  const used = readUsage(db)
  const isOver =
    used.bytes + added.bytes > (quota.bytes ?? Infinity) ||
    used.messages + added.messages > (quota.messages ?? Infinity)
  if (isOver) throw new MailError('OVER_QUOTA')
}
