/**
 * Checks a mailbox: SQLite's own structure, the figures that are kept beside the rows, and every content against its
 * hash. Long and synchronous: it runs in a thread.
 */
import { createHash } from 'node:crypto'
import { errorCodeOf } from '../database/sqlite-error.js'
import { prepared } from '../database/statement.js'
import { runSnapshot } from '../database/transaction.js'
import { releaseBuffer } from './chunk-codec.js'
import { readChunk } from './content-rows.js'
import { segmentProblems } from './search/verify-segments.js'
import { listMailboxRows } from './mailbox-rows.js'
import { messageRowId, uidOfRow } from './row-ids.js'
import { viewBlockProblems } from './pack-views.js'
import { findings, MAX_PROBLEMS, sqliteProblems } from '../database/sqlite-check.js'
import { counted } from '../support/format.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} VerifyProgress
 * @property {number} done - bytes of contents
 * @property {number} total
 *
 * @typedef {object} VerifyReport
 * @property {string[]} problems - empty: all is well; no names, no content
 * @property {{ mailbox: string, uid: number }[]} unreadable - messages of contents that are damaged, by name: for their owner
 * @property {number} contents - how many were read
 * @property {number} bytes - of these
 * @property {number} messages - rows
 */

/** Time between two progress messages, milliseconds. */
const PROGRESS_INTERVAL_MS = 100

/** Each finds rows that contradict each other, and names them by id. */
const CONSISTENCY = /** @type {ReadonlyArray<readonly [string, string]>} */ ([
  [
    'UID or modseq beyond those of mailbox',
    `SELECT DISTINCT b.id FROM messages m JOIN mailboxes b ON b.id = m.id >> 32
     WHERE (m.id & 4294967295) >= b.uid_next OR m.modseq > b.highest_modseq`
  ],
  [
    'messages of no mailbox, number',
    `SELECT DISTINCT m.id >> 32 FROM messages m WHERE m.id >> 32 NOT IN (SELECT id FROM mailboxes)
       AND m.id >> 32 NOT IN (SELECT mailbox_id FROM garbage_mailboxes)`
  ],
  [
    'size of message',
    `SELECT m.id FROM messages m JOIN contents c ON c.id = m.content_id
     WHERE m.size <> c.size OR c.hash IS NULL OR c.staged_at IS NOT NULL`
  ],
  [
    'content without a message and not left to the sweep, number',
    `SELECT c.id FROM contents c WHERE c.staged_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.content_id = c.id)
       AND NOT EXISTS (SELECT 1 FROM garbage_contents g WHERE g.content_id = c.id)`
  ],
  [
    'content neither in the search index nor waiting for it, number',
    `SELECT c.id FROM contents c WHERE c.hash IS NOT NULL
       AND c.id <= (SELECT listed_through FROM search_state)
       AND NOT EXISTS (SELECT 1 FROM search_listed p WHERE p.content_id = c.id)
       AND NOT EXISTS (SELECT 1 FROM search_header_docsize s WHERE s.id = c.id)`
  ],
  [
    'search index of no content, or of one that waits for it, number',
    `SELECT i.id FROM search_header_docsize i
     WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.id = i.id AND c.hash IS NOT NULL)
       OR i.id > (SELECT listed_through FROM search_state)
       OR EXISTS (SELECT 1 FROM search_listed p WHERE p.content_id = i.id)`
  ],
  [
    'content on the list of the search index that is not complete, or above its mark, number',
    `SELECT p.content_id FROM search_listed p
     WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.id = p.content_id AND c.hash IS NOT NULL)
       OR p.content_id > (SELECT listed_through FROM search_state)`
  ],
  [
    'shared part that no content uses and that is not left to the sweep, number',
    `SELECT p.id FROM shared_parts p
     WHERE p.hash IS NOT NULL AND NOT EXISTS (SELECT 1 FROM shared_part_uses u WHERE u.part_id = p.id)`
  ],
  [
    'chunks of neither a content nor a shared part, number',
    `SELECT DISTINCT k.id >> 16 FROM content_chunks k
     WHERE k.id >> 16 NOT IN (SELECT id FROM contents UNION ALL SELECT id FROM shared_parts)`
  ]
])

/**
 * One range of rows a mailbox, so that nothing has to be sorted.
 *
 * @param {Database} db
 * @returns {string[]}
 */
function wrongCounters(db) {
  const actual = prepared(
    db,
    `SELECT count(*), coalesce(sum(size), 0), coalesce(sum(flags & 1 = 0), 0), coalesce(sum(flags & 8 = 8), 0)
     FROM messages WHERE id > ? AND id < ?`,
    'array'
  )
  return listMailboxRows(db)
    .filter(({ id, messageCount, totalBytes, unseenCount, deletedCount }) => {
      const counted = actual.get(messageRowId(id, 0), messageRowId(id + 1, 0))
      const kept = [messageCount, totalBytes, unseenCount, deletedCount]
      return String(counted) !== String(kept)
    })
    .map(({ id }) => `counters of mailbox ${id}`)
}

/**
 * @param {Database} db
 * @returns {string[]}
 */
function contradictions(db) {
  const problems = CONSISTENCY.flatMap(([what, sql]) =>
    prepared(db, `${sql} LIMIT ${MAX_PROBLEMS}`, 'value')
      .all()
      .map((id) => `${what} ${id}`)
  )
  const dangling = prepared(db, 'PRAGMA foreign_key_check').all()
  if (dangling.length > 0) problems.push(`${counted(dangling.length, 'reference')} to nothing`)
  // By itself: mail is whole where only its index is damaged.
  const ofIndex = findings('search index', () => segmentProblems(db))
  return [...wrongCounters(db), ...problems, ...viewBlockProblems(db), ...ofIndex]
}

/**
 * @param {Database} db
 * @param {{ id: number, hash: Buffer, size: number, chunkSize: number }} content
 * @returns {string | null} what is wrong with it
 */
function contentProblem(db, { id, hash, size, chunkSize }) {
  const actual = createHash('sha256')
  let bytes = 0
  try {
    for (let sequence = 0; sequence * chunkSize < size; sequence++) {
      const chunk = readChunk(db, id, sequence, { size, chunkSize })
      actual.update(chunk)
      bytes += chunk.length
      releaseBuffer(chunk)
    }
  } catch (error) {
    return `content ${id}: ${errorCodeOf(error)}`
  }
  return bytes === size && actual.digest().equals(hash) ? null : `content ${id}: other bytes`
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @returns {{ mailbox: string, uid: number }[]} some of the messages that have it
 */
function messagesOf(db, contentId) {
  const rows = prepared(
    db,
    `SELECT b.name, m.id FROM messages m JOIN mailboxes b ON b.id = m.id >> 32
     WHERE m.content_id = ? ORDER BY m.id LIMIT ${MAX_PROBLEMS}`,
    'array'
  ).all(contentId)
  return /** @type {[string, number][]} */ (rows).map(([mailbox, id]) => ({
    mailbox,
    uid: uidOfRow(id)
  }))
}

/**
 * @param {Database} db
 * @param {(progress: VerifyProgress) => void} onProgress
 * @returns {VerifyReport}
 */
export function verifyAll(db, onProgress) {
  const problems = [
    ...sqliteProblems(db, 'integrity_check'),
    // Of one moment: what others write meanwhile would contradict what was read before.
    ...findings('consistency', () => runSnapshot(db, () => contradictions(db)))
  ]
  /** @type {VerifyReport} */
  const report = { problems, unreadable: [], contents: 0, bytes: 0, messages: 0 }
  const complete = (/** @type {string} */ what, /** @type {() => void} */ read) => {
    const check = () => {
      read()
      return []
    }
    problems.push(...findings(what, check))
  }
  complete('contents', () => readContents(db, report, onProgress))
  complete('messages', () => {
    const count = prepared(db, 'SELECT count(*) FROM messages', 'value')
    report.messages = /** @type {number} */ (count.get())
  })
  return report
}

/**
 * Reads every content.
 *
 * @param {Database} db
 * @param {VerifyReport} report - says how much was read, and what of it is damaged
 * @param {(progress: VerifyProgress) => void} onProgress
 */
function readContents(db, report, onProgress) {
  const total = /** @type {number} */ (
    prepared(
      db,
      // In their order: along the index of hashes each is a page by itself.
      'SELECT coalesce(sum(size), 0) FROM contents NOT INDEXED WHERE hash IS NOT NULL',
      'value'
    ).get()
  )
  const next = prepared(
    db,
    `SELECT id, hash, size, chunk_size AS chunkSize FROM contents WHERE id > ? AND hash IS NOT NULL
     ORDER BY id LIMIT 1`
  )
  const { problems, unreadable } = report
  // Counted apart from other problems, however many those are: this is what the owner of the mail has to know.
  let damagedCount = 0
  let toldMs = performance.now()
  // One content at a time, each a read of its own: no snapshot is held against the checkpoints.
  for (let id = 0; ;) {
    const content =
      /** @type {{ id: number, hash: Buffer, size: number, chunkSize: number } | undefined} */ (
        next.get(id)
      )
    if (!content) break
    id = content.id
    const problem = contentProblem(db, content)
    if (problem && !problem.endsWith('MESSAGE_GONE') && damagedCount < MAX_PROBLEMS) {
      damagedCount++
      problems.push(problem)
      unreadable.push(...messagesOf(db, id))
    }
    report.contents++
    report.bytes += content.size
    if (performance.now() - toldMs >= PROGRESS_INTERVAL_MS) {
      toldMs = performance.now()
      onProgress({ done: report.bytes, total })
    }
  }
  onProgress({ done: report.bytes, total: Math.max(total, report.bytes) })
}
