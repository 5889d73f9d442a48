/**
 * What a mailbox needs when an older copy of it has taken its place: clients remember numbers that were given out after
 * that copy was made, and none of them may come again for something else.
 */

import { uidValidityAt } from './mailbox-rows.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** More messages than any mailbox gets between a backup and its restore, or between two restores. */
const UID_STEP = 2 ** 20

/** More changes than any mailbox sees in that time; modseq stays below 2^53 for two million restores. */
const MODSEQ_STEP = 2 ** 32

/** Contents, for EMAILID (RFC 8474 §5.1); their ids end at 2^37. */
const CONTENT_STEP = 2 ** 20

/** Mailboxes, for MAILBOXID and UIDVALIDITY; their ids end at 2^21. */
const MAILBOX_STEP = 2 ** 10

/** Where a UID has no successor: uid_next stays there, and the mailbox takes no more messages. */
const UID_END = 2 ** 32

/**
 * UIDVALIDITY stays, so that clients keep what they have. Every MODSEQ is higher than any that a client may know, so
 * that each asks for all flags again (RFC 7162 §3.1.4); and the log of expunged messages begins anew, so that each is
 * told every UID that is no longer there (§3.2.5.1).
 *
 * @param {Database} db - inside a write transaction
 * @param {{ nowMs: number, lifts: number }} options - `lifts`: of the mailbox in all, this one included: a copy from before some of
 *   them lacks these
 * @returns {number} lifts that the file has now: as many, or more if it had them already
 */
export function liftRestored(db, { nowMs, lifts }) {
  const before = Number(db.prepare('SELECT lifts FROM account').pluck().get())
  const steps = Math.max(1, lifts - before)
  db.prepare('UPDATE messages SET modseq = modseq + ?').run(steps * MODSEQ_STEP)
  db.prepare('DELETE FROM view_blocks').run()
  db.prepare(
    `UPDATE mailboxes SET uid_next = min(uid_next + $uids, $end),
       highest_modseq = highest_modseq + $modSeqs, expunged_floor = highest_modseq + $modSeqs`
  ).run({ uids: steps * UID_STEP, end: UID_END, modSeqs: steps * MODSEQ_STEP })
  db.prepare('DELETE FROM expunged').run()
  db.prepare(
    'UPDATE account SET last_uid_validity = max(last_uid_validity, ?) + ?, lifts = lifts + ?'
  ).run(uidValidityAt(nowMs), steps * MAILBOX_STEP, steps)
  raise(db, 'contents', steps * CONTENT_STEP)
  raise(db, 'mailboxes', steps * MAILBOX_STEP)
  return before + steps
}

/**
 * @param {Database} db
 * @param {string} table - whose ids SQLite gives (AUTOINCREMENT)
 * @param {number} step - how many of them nobody gets
 */
function raise(db, table, step) {
  const there = db.prepare('UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?')
  if (there.run(step, table).changes > 0) return
  // It has no counter before its first row, and after that copy was made there may have been some.
  db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, step)
}
