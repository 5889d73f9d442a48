/**
 * Mail in plain better-sqlite3, as a small program would do it well: a narrow table of what lists show, the text for
 * searches with LIKE in a table of its own, the message compressed by zstd. Nothing is encrypted.
 */
import { zstdCompressSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { parseMessage } from '../../src/mime/parse-message.js'
import { decodePartTree, encodePartTree } from '../../src/mime/part-tree.js'
import { decodedField } from '../../src/mime/searchable-header.js'
import { textPieces } from '../../src/mime/text-extract.js'

/** @typedef {import('./mail.js').Mail} Mail */

const SCHEMA = `
CREATE TABLE IF NOT EXISTS messages (
  id INTEGER PRIMARY KEY, created INTEGER NOT NULL, size INTEGER NOT NULL, is_seen INTEGER NOT NULL,
  subject TEXT NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS data (id INTEGER PRIMARY KEY, message BLOB NOT NULL);`

/** The settings that the report names. */
export const PLAIN_SETTINGS = Object.freeze({
  engine: 'better-sqlite3',
  encryption: 'none',
  journal_mode: 'WAL',
  synchronous: 'FULL',
  messages: 'zstd',
  search: 'LIKE over the lower-case text'
})

/** One mailbox in one file. */
export class PlainMailbox {
  #db
  #insertMessage
  #insertText
  #insertData
  #hasText

  /**
   * @param {string} path
   * @param {{ hasText: boolean }} options - `hasText`: keep the text for searches
   */
  constructor(path, { hasText }) {
    this.#hasText = hasText
    this.#db = new Database(path)
    this.#db.pragma('auto_vacuum = NONE')
    this.#db.pragma('journal_mode = WAL')
    this.#db.pragma('synchronous = FULL')
    this.#db.exec(SCHEMA)
    this.#insertMessage = this.#db.prepare(
      'INSERT INTO messages (created, size, is_seen, subject, sender, recipient) VALUES (?, ?, ?, ?, ?, ?)'
    )
    this.#insertText = this.#db.prepare('INSERT INTO texts VALUES (?, ?)')
    this.#insertData = this.#db.prepare('INSERT INTO data VALUES (?, ?)')
  }

  /**
   * Adds the mails, which are on the disk when this returns.
   *
   * @param {readonly Mail[]} mails - in one transaction
   */
  add(mails) {
    this.#db.exec('BEGIN IMMEDIATE')
    for (const { bytes, flags, epochSeconds } of mails) {
      const { root } = parseMessage(bytes)
      const header = bytes.subarray(root.headerStart, root.headerEnd)
      const field = (/** @type {string} */ name) => decodedField(header, name).join(', ')
      const [subject, from, to] = [field('Subject'), field('From'), field('To')]
      const isSeen = flags.includes('\\Seen') ? 1 : 0
      const { lastInsertRowid: id } = this.#insertMessage.run(
        ...[epochSeconds, bytes.length, isSeen, subject, from, to]
      )
      if (this.#hasText) {
        const read = (/** @type {number} */ start, /** @type {number} */ end) =>
          bytes.subarray(start, end)
        const tree = decodePartTree(encodePartTree(root))
        const pieces = [...textPieces(tree, read)].map(({ text }) => text)
        this.#insertText.run(id, [subject, from, to, ...pieces].join('\n').toLowerCase())
      }
      this.#insertData.run(id, zstdCompressSync(bytes))
    }
    this.#db.exec('COMMIT')
  }

  /** @returns {{ total: number, unseen: number }} */
  counts() {
    const row = this.#db.prepare(
      'SELECT count(*) AS total, sum(1 - is_seen) AS unseen FROM messages'
    )
    return /** @type {{ total: number, unseen: number }} */ (row.get())
  }

  /**
   * @param {number} count
   * @returns {{ id: number, size: number }[]} the newest
   */
  newest(count) {
    return /** @type {{ id: number, size: number }[]} */ (
      this.#db.prepare('SELECT * FROM messages ORDER BY id DESC LIMIT ?').all(count)
    )
  }

  /** @returns {number} how many rows a list of the whole folder has, each of which is read */
  openFolder() {
    return this.#db
      .prepare('SELECT id, created, size, is_seen FROM messages ORDER BY id')
      .raw()
      .all().length
  }

  /**
   * @param {readonly string[]} words - all must be in the text
   * @param {number} last - id of the last message that is looked at
   * @returns {number[]} ids of messages, from 1, in order
   */
  search(words, last) {
    const condition = ['id <= ?', ...words.map(() => 'text LIKE ?')].join(' AND ')
    const patterns = words.map((word) => `%${word}%`)
    const found = this.#db.prepare(`SELECT id FROM texts WHERE ${condition} ORDER BY id`).pluck()
    return /** @type {number[]} */ (found.all(last, ...patterns))
  }

  /** Deletes everything and shrinks the file. */
  deleteAll() {
    this.#db.exec(
      'BEGIN; DELETE FROM messages; DELETE FROM texts; DELETE FROM data; COMMIT; VACUUM'
    )
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
  }

  close() {
    this.#db.close()
  }
}
