/**
 * The sweep: deletes in slices what no message refers to any more, and what an APPEND left behind that never came
 * to its end. What is to be looked at stands in tables of its own, so that a crash loses no track of it.
 */
import { prepared } from '../database/statement.js'
import { CHUNK_BYTES } from './chunk-codec.js'
import { deleteChunks, deleteContent, hideContent, leaveContent } from './content-rows.js'
import { IS_DUE, leaveContentsOf } from './left-contents.js'
import { blockOf, dropFromBlocks } from './list-blocks.js'
import { MAX_UID, messageRowId, uidOfRow } from './row-ids.js'
import { UNUSED_PARTS, leavePartsOf, sweepParts } from './shared-parts/part-rows.js'
import { dropViewBlocks } from './view-blocks.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Staged content without a sign of life for this long is abandoned, milliseconds. */
const ABANDONED_MS = 60 * 60 * 1000

/** Raw bytes that are deleted in one slice: their pages are overwritten (secure_delete), some 5 ms in all. */
const BYTES_PER_SLICE = 1024 * 1024

/** Of attachments that were shared, which take as much room on the disk: some 5 ms as well. */
const CHUNKS_PER_SLICE = BYTES_PER_SLICE / CHUNK_BYTES

/** A slice ends after the content with which it has taken this long: each is up to 1 ms for the search index, ms. */
const SLICE_MS = 5

/** Blocks that one slice takes contents out of: each of five kinds is unpacked, and packed anew, some 4 ms in all. */
const BLOCKS_PER_SLICE = 10

/** What the rows of a content cost beside its bytes. */
const ROW_BYTES = 16 * 1024

/** Messages of deleted mailboxes that are deleted in one slice. */
const MESSAGES_PER_SLICE = 500

/** More contents than this are a thread's work: each is up to 1 ms. */
const FEW_CONTENTS = 200

/** The same in raw bytes: eight slices. */
const FEW_BYTES = 8 * BYTES_PER_SLICE

/** Contents that are looked at in one slice. */
const CONTENTS_PER_SLICE = 200

/**
 * Puts abandoned staged content on the list.
 *
 * @param {Database} db
 * @param {number} nowMs
 */
export function leaveAbandoned(db, nowMs) {
  const ids = /** @type {number[]} */ (
    prepared(db, 'SELECT id FROM contents WHERE staged_at < ?', 'value').all(nowMs - ABANDONED_MS)
  )
  for (const id of ids) leaveContent(db, id)
}

/**
 * @param {Database} db
 * @param {number} nowMs
 * @returns {boolean} whether there is anything for `leaveAbandoned` or `sweepSlice`; needs no transaction
 */
export function hasGarbage(db, nowMs) {
  return (
    prepared(
      db,
      `SELECT EXISTS (SELECT 1 FROM garbage_contents WHERE ${IS_DUE}) OR EXISTS (SELECT 1 FROM garbage_mailboxes)
         OR EXISTS (SELECT 1 FROM contents WHERE staged_at < $abandoned) OR EXISTS (${UNUSED_PARTS})`,
      'value'
    ).get({ now: nowMs, abandoned: nowMs - ABANDONED_MS }) === 1
  )
}

/**
 * @param {Database} db
 * @param {number} nowMs
 * @returns {boolean} whether it is so much that the event loop should not sweep it
 */
export function isMuchGarbage(db, nowMs) {
  const listed = prepared(
    db,
    `SELECT count(*), total(size) FROM (
       SELECT size FROM garbage_contents CROSS JOIN contents ON contents.id = content_id
       WHERE ${IS_DUE} LIMIT $most + 0)`,
    'array'
  )
  const inMailboxes = prepared(
    db,
    `SELECT count(*), total(size) FROM (
       SELECT size FROM garbage_mailboxes CROSS JOIN messages
         ON messages.id BETWEEN mailbox_id << 32 AND (mailbox_id << 32) + ${MAX_UID} LIMIT $most + 0)`,
    'array'
  )
  let contents = 0
  let bytes = 0
  const most = FEW_CONTENTS + 1
  for (const row of [listed.get({ now: nowMs, most }), inMailboxes.get({ most })]) {
    const [count, size] = /** @type {[number, number]} */ (row)
    contents += count
    bytes += size
  }
  return contents > FEW_CONTENTS || bytes > FEW_BYTES
}

/**
 * One slice of the sweep.
 *
 * @param {Database} db
 * @param {number} nowMs
 * @returns {boolean} whether there is more to do
 */
export function sweepSlice(db, nowMs) {
  return sweepMailbox(db, nowMs) || sweepContents(db, nowMs) || sweepParts(db, CHUNKS_PER_SLICE)
}

/**
 * @param {Database} db
 * @param {number} nowMs
 * @returns {boolean} whether it had something to do
 */
function sweepMailbox(db, nowMs) {
  const mailboxId = /** @type {number | undefined} */ (
    prepared(db, 'SELECT mailbox_id FROM garbage_mailboxes LIMIT 1', 'value').get()
  )
  if (mailboxId === undefined) return false
  const ids = /** @type {number[]} */ (
    prepared(
      db,
      'SELECT id FROM messages WHERE id > ? AND id < ? ORDER BY id LIMIT ? + 0',
      'value'
    ).all(messageRowId(mailboxId, 0), messageRowId(mailboxId + 1, 0), MESSAGES_PER_SLICE)
  )
  const remove = prepared(db, 'DELETE FROM messages WHERE id = ?')
  for (const id of ids) {
    leaveContentsOf(db, { firstId: id, lastId: id, nowMs })
    remove.run(id)
  }
  dropViewBlocks(
    db,
    mailboxId,
    ids.map((id) => ({ first: uidOfRow(id), last: uidOfRow(id) }))
  )
  if (ids.length < MESSAGES_PER_SLICE)
    prepared(db, 'DELETE FROM garbage_mailboxes WHERE mailbox_id = ?').run(mailboxId)
  return true
}

/**
 * @param {Database} db
 * @param {number} nowMs
 * @returns {boolean} whether there is more to do
 */
function sweepContents(db, nowMs) {
  const ids = /** @type {number[]} */ (
    prepared(
      db,
      `SELECT content_id FROM garbage_contents WHERE ${IS_DUE} ORDER BY content_id LIMIT $most + 0`,
      'value'
    ).all({ now: nowMs, most: CONTENTS_PER_SLICE })
  )
  /** @type {number[]} */
  const gone = []
  const isDone = sweepEach(db, ids, gone)
  dropFromBlocks(db, gone)
  return !isDone || ids.length === CONTENTS_PER_SLICE
}

/**
 * @param {Database} db
 * @param {readonly number[]} ids - contents that may have no message any more, ascending
 * @param {number[]} gone - those that have been deleted are added
 * @returns {boolean} false: the slice is over before the last of them
 */
function sweepEach(db, ids, gone) {
  const isUsed = prepared(db, 'SELECT 1 FROM messages WHERE content_id = ? LIMIT 1', 'value')
  const strike = prepared(db, 'DELETE FROM garbage_contents WHERE content_id = ?')
  const endMs = performance.now() + SLICE_MS
  let budget = BYTES_PER_SLICE
  let blocks = 0
  for (const id of ids) {
    if (isUsed.get(id) === undefined) {
      if (blockOf(id) !== blockOf(gone.at(-1) ?? -1)) blocks++
      if (blocks > BLOCKS_PER_SLICE || budget <= 0 || performance.now() > endMs) return false
      hideContent(db, id)
      const bytes = ROW_BYTES + contentBytes(db, id)
      if (deleteChunks(db, id, Math.ceil(budget / CHUNK_BYTES))) return false
      leavePartsOf(db, id)
      deleteContent(db, id)
      gone.push(id)
      budget -= bytes
    }
    strike.run(id)
  }
  return true
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @returns {number}
 */
function contentBytes(db, contentId) {
  const size = prepared(db, 'SELECT size FROM contents WHERE id = ?', 'value').get(contentId)
  return size === undefined ? 0 : /** @type {number} */ (size)
}
