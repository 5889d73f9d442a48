/**
 * The published schema and rows.
 */

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

const SCHEMA = `
CREATE TABLE mailboxes (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL,
  uidvalidity INTEGER NOT NULL, uidnext INTEGER NOT NULL
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, mailbox_id INTEGER NOT NULL REFERENCES mailboxes (id), uid INTEGER NOT NULL,
  date INTEGER NOT NULL, flags TEXT, subject TEXT, from_addr TEXT, to_addr TEXT, message_id TEXT, raw BLOB
);
CREATE INDEX messages_by_date ON messages (mailbox_id, date DESC);
CREATE INDEX messages_by_uid ON messages (mailbox_id, uid);
CREATE INDEX messages_by_flags ON messages (mailbox_id, flags) WHERE flags IS NOT NULL;
INSERT INTO mailboxes VALUES (1, 'INBOX', 'INBOX', 1234567890, 1);`

export const INSERT = `INSERT INTO messages
  (mailbox_id, uid, date, flags, subject, from_addr, to_addr, message_id, raw)
  VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`

const MINUTE_MS = 60_000

/** @param {number} index */
const rawOf = (index) => Buffer.from(`The raw bytes of message no. ${index}, `.repeat(100))

/**
 * @param {number} index - from 1
 * @param {number} nowMs - the row's date is that many minutes before
 * @returns {unknown[]} parameters of INSERT: 3.3 to 3.6 KB, every tenth \Seen
 */
const rowOf = (index, nowMs) => [
  index,
  nowMs - index * MINUTE_MS,
  index % 10 === 0 ? '\\Seen' : '',
  `Test subject ${index}`,
  `sender${index}@example.com`,
  `recipient${index}@example.com`,
  `<message-${index}@example.com>`,
  rawOf(index)
]

/**
 * @param {number} index
 * @param {number} nowMs
 * @returns {unknown[]} parameters of INSERT: 1.1 KB
 */
export const smallRowOf = (index, nowMs) => [
  index,
  nowMs,
  '',
  `Benchmark subject ${index}`,
  `bench${index}@example.com`,
  `test${index}@example.com`,
  `<bench-${index}@example.com>`,
  Buffer.from(`Benchmark message ${index}`.repeat(50))
]

/**
 * Makes the schema and fills it.
 *
 * @param {Database} db
 * @param {object} options
 * @param {number} options.rows
 * @param {number} options.rowsPerTransaction
 * @param {number} options.nowMs
 * @param {(done: number) => void} [options.onTransaction]
 */
export function fill(db, { rows, rowsPerTransaction, nowMs, onTransaction }) {
  db.exec(SCHEMA)
  const insert = db.prepare(INSERT)
  for (let from = 1; from <= rows; from += rowsPerTransaction) {
    const to = Math.min(rows + 1, from + rowsPerTransaction)
    db.exec('BEGIN IMMEDIATE')
    for (let index = from; index < to; index++) insert.run(...rowOf(index, nowMs))
    db.exec('COMMIT')
    onTransaction?.(to - 1)
  }
}

/**
 * @param {Database} db
 * @param {string} [condition]
 * @returns {number}
 */
export const countMessages = (db, condition = '1') =>
  Number(db.prepare(`SELECT count(*) FROM messages WHERE ${condition}`).pluck().get())
