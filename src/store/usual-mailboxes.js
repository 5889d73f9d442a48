/**
 * What a new account has.
 */
import { prepared } from '../database/statement.js'
import { insertMailboxRow } from './mailbox-rows.js'

/** The folders of a new account, with their uses (RFC 6154 §2); all are subscribed. */
export const USUAL_MAILBOXES = /** @type {ReadonlyArray<readonly [string, string | null]>} */ ([
  ['INBOX', null],
  ['Drafts', '\\Drafts'],
  ['Sent', '\\Sent'],
  ['Junk', '\\Junk'],
  ['Trash', '\\Trash'],
  ['Archive', '\\Archive']
])

/**
 * Makes the first rows of a new account.
 *
 * @param {import('better-sqlite3-multiple-ciphers').Database} db - empty, in a transaction
 * @param {number} nowMs
 */
export function insertUsualMailboxes(db, nowMs) {
  prepared(db, 'INSERT INTO account (id, last_uid_validity, created_at) VALUES (1, 0, ?)').run(
    nowMs
  )
  for (const [name, specialUse] of USUAL_MAILBOXES) {
    insertMailboxRow(db, { name, specialUse, nowMs })
    prepared(db, 'INSERT INTO subscriptions (name) VALUES (?)').run(name)
  }
}
