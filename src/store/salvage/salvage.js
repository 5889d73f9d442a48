/**
 * Takes every readable message out of a damaged file into a new one.
 *
 * The tables help each other: a message whose row is lost is known to the index by content, with its UID and its
 * content; the number of a content's chunks follows from its size. Only what is computed (envelopes, structures, the
 * search index, counters) is made anew. A mailbox that has lost anything gets a higher mod-sequence and an empty log of
 * expunges, so that QRESYNC clients are told what is gone.
 *
 * Long and synchronous: for the command line.
 */
import { errorCodeOf } from '../../database/sqlite-error.js'
import { prepared } from '../../database/statement.js'
import { runTransaction } from '../../database/transaction.js'
import { DELETED, KeywordTable, SEEN, SYSTEM_FLAGS_MASK } from '../flags.js'
import { readKeywords } from '../keyword-rows.js'
import { MAX_UID, messageRowId, uidOfRow } from '../row-ids.js'
import { copyContent } from './copy-content.js'
import { UNREADABLE, readableEnds, readableRows, tryRead } from './readable-rows.js'
import {
  forgetImports,
  hasTable,
  inventMailbox,
  namedMailboxes,
  requireInbox,
  salvageAccount,
  salvageCounters,
  salvageMailboxes,
  schemaLost
} from './salvage-mailboxes.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./salvage-mailboxes.js').SalvagedMailbox} SalvagedMailbox
 *
 * @typedef {object} LostMessage
 * @property {string} mailbox
 * @property {number} uid
 * @property {number | null} sizeBytes - null where that is lost too
 * @property {number | null} savedAtMs - when it came into the mailbox
 *
 * @typedef {object} SalvageReport
 * @property {number} salvaged - messages
 * @property {number} bytes - of these, each copy counted
 * @property {LostMessage[]} lost
 * @property {{ mailbox: string, uid: number }[]} withoutFlags - messages that are there, but not all of their flags
 * @property {string[]} recoveredMailboxes - whose names are lost
 * @property {number} gaps - stretches of the list of messages that nothing else knows about: there may be more lost
 *
 * @typedef {object} MessageRow
 * @property {number} id
 * @property {number} content_id
 * @property {number | null} size - null where the row is lost
 * @property {number} [modseq]
 * @property {number} [flags]
 * @property {number} [keywords]
 * @property {number} [internal_date]
 * @property {number} [internal_zone]
 * @property {number} [saved_at]
 */

/** Tables that a file has had from the beginning, and without which its mail is not found. */
const TABLES = Object.freeze([
  'account',
  'contents',
  'content_chunks',
  'drained',
  'expunged',
  'import_log',
  'keywords',
  'mailboxes',
  'messages',
  'subscriptions'
])

/** Messages in one transaction of the new file. */
const BATCH_MESSAGES = 200

/** Raw bytes in one such transaction: what is not committed yet lies in memory. */
const BATCH_BYTES = 32 * 1024 * 1024

/**
 * Asks for each table, because SQLite goes on with the part of the schema that it could read, as if there were no others.
 *
 * @param {Database} from
 * @throws {MailError} ACCOUNT_DAMAGED
 */
function requireSchema(from) {
  for (const table of TABLES) {
    try {
      from.prepare(`SELECT 1 FROM ${table} LIMIT 0`).get()
    } catch (cause) {
      if (errorCodeOf(cause) !== 'SQLITE_ERROR') throw cause
      throw schemaLost(cause)
    }
  }
}

/**
 * @param {Database} from - the damaged file; nobody else has it open
 * @param {Database} to - a new file of the newest schema, without mailboxes
 * @param {object} options
 * @param {number} options.nowMs
 * @param {() => import('./leaf-pages.js').LeafPages} options.leafPages - of the damaged file, asked for if they are needed
 * @param {(progress: { done: number, total: number }) => void} [options.onProgress] - messages
 * @returns {SalvageReport}
 * @throws {MailError} ACCOUNT_DAMAGED when a part of the schema is lost: nobody knows where its tables are
 */
export function salvage(from, to, { nowMs, leafPages, onProgress }) {
  requireSchema(from)
  const mailboxes = salvageMailboxes(from, to)
  salvageAccount(from, to, mailboxes)
  const { rows, gaps } = listMessages(from, leafPages)
  /** @type {SalvageReport} */
  const report = {
    salvaged: 0,
    bytes: 0,
    lost: [],
    withoutFlags: [],
    recoveredMailboxes: [],
    gaps
  }
  /** @type {Map<number, import('./copy-content.js').CopiedContent | null>} */
  const contents = new Map()
  /** @type {number[]} ids of `messages` */
  const lostIds = []
  const sizeOf = sizesWhereLost(rows)
  const named = namedFlags(to)
  const isDeletedMailbox = deletedMailboxes(from)
  const requireMailbox = (/** @type {number} */ id) => {
    const present = mailboxes.get(id)
    if (present) return present
    const invented = inventMailbox(from, to, id, nowMs)
    mailboxes.set(id, invented)
    if (invented.isRenamed) report.recoveredMailboxes.push(invented.name)
    return invented
  }
  runTransaction(to, () => namedMailboxes(from).forEach(requireMailbox))
  let highestContentId = 0
  for (let start = 0; start < rows.length;) {
    start = runTransaction(to, () => {
      let bytes = 0
      let at = start
      for (; at < rows.length && at - start < BATCH_MESSAGES && bytes < BATCH_BYTES; at++) {
        const row = /** @type {MessageRow} */ (rows[at])
        highestContentId = Math.max(highestContentId, row.content_id)
        const mailboxId = Math.floor(row.id / messageRowId(1, 0))
        if (isDeletedMailbox(mailboxId)) continue
        const mailbox = requireMailbox(mailboxId)
        const files = { from, to, leafPages }
        const { lost } = report
        const lostBefore = lost.length
        bytes += salvageMessage(files, { row, mailbox, named, sizeOf, contents, report, nowMs })
        if (lost.length > lostBefore) lostIds.push(row.id)
      }
      return at
    })
    onProgress?.({ done: start, total: rows.length })
  }
  runTransaction(to, () => {
    for (const mailbox of mailboxes.values()) finishMailbox(to, mailbox, gaps > 0)
    salvageCounters(from, to, highestContentId)
    forgetImports(to, lostIds)
    // Only now: its id must be none that was ever given.
    requireInbox(to, nowMs)
  })
  return report
}

/**
 * @param {{ from: Database, to: Database, leafPages: () => import('./leaf-pages.js').LeafPages }} files
 * @param {{ row: MessageRow, mailbox: SalvagedMailbox, named: import('../flags.js').FlagWords,
 *   sizeOf: (row: MessageRow) => number | null, contents: Map<number, import('./copy-content.js').CopiedContent | null>,
 *   report: SalvageReport, nowMs: number }} input
 * @returns {number} bytes that were copied
 */
function salvageMessage({ from, to, leafPages }, input) {
  const { row, mailbox, named, sizeOf, contents, report, nowMs } = input
  const uid = uidOfRow(row.id)
  const isCopied = contents.has(row.content_id)
  const content = isCopied
    ? contents.get(row.content_id)
    : copyContent(from, to, row.content_id, { expectedBytes: sizeOf(row), leafPages })
  contents.set(row.content_id, content ?? null)
  if (!content) {
    const savedAtMs = row.saved_at ?? null
    report.lost.push({ mailbox: mailbox.name, uid, sizeBytes: row.size, savedAtMs })
    mailbox.hasLoss = true
    return 0
  }
  const flags = ((row.flags ?? 0) & named.flags) >>> 0
  const keywords = ((row.keywords ?? 0) & named.keywords) >>> 0
  const hasAllFlags = flags === row.flags && keywords === row.keywords
  if (!hasAllFlags) {
    report.withoutFlags.push({ mailbox: mailbox.name, uid })
    mailbox.hasLoss = true
  }
  prepared(
    to,
    `INSERT INTO messages (id, modseq, flags, keywords, internal_date, internal_zone, saved_at, size, content_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  ).run(
    row.id,
    hasAllFlags ? row.modseq : mailbox.modSeq,
    flags,
    keywords,
    row.internal_date ?? content.sentDate?.epochSeconds ?? Math.floor(nowMs / 1000),
    row.internal_zone ?? content.sentDate?.zoneMinutes ?? 0,
    row.saved_at ?? nowMs,
    content.size,
    row.content_id
  )
  report.salvaged++
  report.bytes += content.size
  return isCopied ? 0 : content.size
}

/**
 * @param {Database} to
 * @returns {import('../flags.js').FlagWords} all flags that have a name: a bit without one would be that of the next keyword
 *   that somebody makes
 */
function namedFlags(to) {
  const table = new KeywordTable()
  table.load(readKeywords(to))
  const { flags, keywords } = table.wordsOf(table.names)
  return { flags: (flags | SYSTEM_FLAGS_MASK) >>> 0, keywords }
}

/**
 * @param {Database} from
 * @param {() => import('./leaf-pages.js').LeafPages} leafPages
 * @returns {{ rows: MessageRow[], gaps: number }} by id: narrow rows, some 200 bytes of memory each
 */
function listMessages(from, leafPages) {
  let gapsInTable = 0
  /** @type {Map<number, MessageRow>} */
  const rows = new Map()
  const table = { name: 'messages', key: 'id', columns: '*' }
  for (const row of readableRows(from, table, () => gapsInTable++)) rows.set(row.id, row)
  if (gapsInTable === 0) return { rows: [...rows.values()], gaps: 0 }
  let gapsInIndex = 0
  const listed = readableEnds(
    from,
    'SELECT id, content_id FROM messages INDEXED BY messages_by_content',
    ['content_id', 'id'],
    () => gapsInIndex++
  )
  // Pages that are free may have rows of messages that have gone since, where they were not overwritten: the index knows.
  const isListed = gapsInIndex > 0 ? null : new Set(listed.map(({ id }) => id))
  for (const row of leafPages().messages())
    if (!rows.has(row.id) && isListed?.has(row.id) !== false) rows.set(row.id, row)
  for (const { id, content_id: contentId } of listed)
    if (!rows.has(id)) rows.set(id, { id, content_id: contentId, size: null })
  const sorted = [...rows.values()].sort((a, b) => a.id - b.id)
  // With the index whole, nothing is unknown.
  return { rows: sorted, gaps: gapsInIndex > 0 ? gapsInTable : 0 }
}

/**
 * @param {readonly MessageRow[]} rows
 * @returns {(row: MessageRow) => number | null} the size of its content, which its copies know as well
 */
function sizesWhereLost(rows) {
  const lost = new Set(rows.filter(({ size }) => size === null).map((row) => row.content_id))
  /** @type {Map<number, number>} */
  const sizes = new Map()
  for (const { content_id: contentId, size } of rows)
    if (size !== null && lost.has(contentId)) sizes.set(contentId, size)
  return ({ content_id: contentId, size }) => size ?? sizes.get(contentId) ?? null
}

/**
 * @param {Database} from
 * @returns {(mailboxId: number) => boolean} whether the user has deleted that mailbox, and the sweep had not come to it yet
 */
function deletedMailboxes(from) {
  const ids = hasTable(from, 'garbage_mailboxes')
    ? tryRead(() => from.prepare('SELECT mailbox_id FROM garbage_mailboxes').pluck().all())
    : UNREADABLE
  const known = new Set(ids === UNREADABLE ? [] : /** @type {number[]} */ (ids))
  return (mailboxId) => known.has(mailboxId)
}

/**
 * @param {Database} to
 * @param {SalvagedMailbox} mailbox
 * @param {boolean} hasGaps - in the list of messages: nobody knows in which mailbox
 */
function finishMailbox(to, { id, modSeq, hasLoss, uidReserve, modSeqReserve }, hasGaps) {
  const range = [messageRowId(id, 0), messageRowId(id + 1, 0)]
  prepared(
    to,
    `UPDATE mailboxes SET (message_count, total_bytes, unseen_count, deleted_count, uid_next) = (
       SELECT count(*), coalesce(sum(size), 0), coalesce(sum(flags & ${SEEN} = 0), 0),
         coalesce(sum(flags & ${DELETED} <> 0), 0),
         max(mailboxes.uid_next, min(coalesce(max(id) & ${MAX_UID}, 0) + ?, ${MAX_UID + 1}))
       FROM messages WHERE id > ? AND id < ?)
     WHERE id = ?`
  ).run(uidReserve, ...range, id)
  if (!hasLoss && !hasGaps) return
  const highest = /** @type {number} */ (
    prepared(
      to,
      'SELECT coalesce(max(modseq), 0) FROM messages WHERE id > ? AND id < ?',
      'value'
    ).get(...range)
  )
  const next = Math.max(modSeq, highest + modSeqReserve)
  prepared(to, 'UPDATE mailboxes SET highest_modseq = ?, expunged_floor = ? WHERE id = ?').run(
    next,
    next,
    id
  )
  prepared(to, 'DELETE FROM expunged WHERE mailbox_id = ?').run(id)
}
