/**
 * Flags of a page of messages, in the transaction of the caller: a whole run of UIDs with one statement, or those of a list
 * that change.
 */
import { prepared } from '../database/statement.js'
import { DELETED, SEEN } from './flags.js'
import { masked, masksOf } from './flag-masks.js'
import { newestKeywords, withKeywords } from './keyword-rows.js'
import { moveCounters, nextModSeq, requireMailboxRowById } from './mailbox-rows.js'
import { messageRowId, uidOfRow } from './row-ids.js'
import { dropViewBlocks } from './view-blocks.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./flag-masks.js').FlagAction} FlagAction
 * @typedef {import('./flag-masks.js').FlagMasks} FlagMasks
 * @typedef {import('./flags.js').KeywordTable} KeywordTable
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
 *
 * @typedef {object} FlagPageRequest
 * @property {number} mailboxId
 * @property {readonly number[]} uids - ascending, not empty
 * @property {boolean} isRun - whether no other message has a UID between these
 * @property {FlagAction} action
 * @property {readonly string[]} flags
 * @property {number | null} unchangedSince
 * @property {KeywordTable} keywords - of the account
 *
 * @typedef {object} RowsResult
 * @property {number} changedCount - messages whose flags are different now
 * @property {number[]} failedUids - left alone because their modseq is above `unchangedSince` (RFC 7162 §3.1.3)
 * @property {number} unseen - how many more are without \Seen
 * @property {number} deleted - how many more have \Deleted
 * @property {Pick<import('./apply-change.js').ViewChange, 'updated' | 'masks' | 'masked'>} change - for the view
 *
 * @typedef {object} FlagPage
 * @property {number} changedCount
 * @property {number[]} failedUids
 * @property {number} modSeq - the mailbox's after it
 * @property {RowsResult['change']} change
 * @property {KeywordTable} keywords - with the new ones
 */

/**
 * @param {Database} db
 * @param {FlagPageRequest} request
 * @returns {FlagPage}
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND, LIMIT, CANNOT
 */
export function changeFlagRows(db, request) {
  const { mailboxId, isRun, action, flags } = request
  const mailbox = requireMailboxRowById(db, mailboxId)
  // A keyword that nobody has ever set cannot be removed either, and needs no number for that.
  const keywords = (action === 'remove' ? newestKeywords : withKeywords)(
    db,
    flags,
    request.keywords
  )
  const masks = masksOf(action, keywords.wordsOf(flags))
  const modSeq = nextModSeq(mailbox)
  const isWhole = isRun && !isAnyChanged(db, request)
  const result = (isWhole ? changeRun : changeEach)(db, request, masks, modSeq)
  const { changedCount, failedUids, unseen, deleted, change } = result
  // RFC 7162 §3.1: what changes nothing gets no new mod-sequence.
  if (changedCount > 0) moveCounters(db, mailbox, { unseen, deleted })
  return {
    changedCount,
    failedUids,
    modSeq: changedCount > 0 ? modSeq : mailbox.highestModSeq,
    change,
    keywords
  }
}

/**
 * @param {FlagPage} page
 * @param {KeywordTable} known - the account's keywords before it
 * @returns {boolean} whether anything was written
 */
export const hasChanged = ({ changedCount, keywords }, known) =>
  changedCount > 0 || keywords !== known

/** The new words of a row, in SQL. */
const NEW_FLAGS = '((flags & @keepFlags) | @putFlags)'
const NEW_KEYWORDS = '((keywords & @keepKeywords) | @putKeywords)'
const RANGE = 'WHERE id BETWEEN @first AND @last'

/**
 * Without FAIL, SQLite keeps a copy of each page that the statement changes, to undo that alone, which takes a tenth of the
 * time of a large mailbox. Here a failure undoes the transaction, or its savepoint.
 */
const UPDATE_FLAGS = `UPDATE OR FAIL messages SET modseq = @modSeq, flags = ${NEW_FLAGS}`
const UPDATE = `${UPDATE_FLAGS}, keywords = ${NEW_KEYWORDS}`

/** Of a run: those whose words become others. Keywords take time where none is touched. */
const UPDATE_RUN_FLAGS = `${UPDATE_FLAGS} ${RANGE} AND flags & @touchedFlags <> @putFlags`
const UPDATE_RUN = `${UPDATE} ${RANGE}
  AND (flags & @touchedFlags <> @putFlags OR keywords & @touchedKeywords <> @putKeywords)`

/** Up to so many rows are read and written by a statement each; of more, one for all takes half the time. */
const FEW_ROWS = 8

/**
 * @param {Database} db
 * @param {FlagPageRequest} request - about a run
 * @returns {boolean} whether a message of it is to be left alone
 */
const isAnyChanged = (db, { mailboxId, uids, unchangedSince }) =>
  unchangedSince !== null &&
  prepared(db, `SELECT 1 FROM messages ${RANGE} AND modseq > @unchangedSince LIMIT 1`).get({
    ...rangeOf(mailboxId, uids),
    unchangedSince
  }) !== undefined

/**
 * @param {number} mailboxId
 * @param {readonly number[]} uids - ascending, not empty
 * @returns {{ first: number, last: number }} ids of their rows
 */
const rangeOf = (mailboxId, uids) => ({
  first: messageRowId(mailboxId, /** @type {number} */ (uids[0])),
  last: messageRowId(mailboxId, /** @type {number} */ (uids.at(-1)))
})

/**
 * @param {Database} db
 * @param {FlagPageRequest} request
 * @param {FlagMasks} masks
 * @param {number} modSeq
 * @returns {RowsResult}
 */
function changeRun(db, { mailboxId, uids }, masks, modSeq) {
  const first = uids[0] ?? 0
  const last = uids.at(-1) ?? 0
  const touchedFlags = touchedOf(masks.keepFlags, masks.putFlags)
  const touchedKeywords = touchedOf(masks.keepKeywords, masks.putKeywords)
  const values = { ...masks, touchedFlags, touchedKeywords, modSeq, ...rangeOf(mailboxId, uids) }
  const counters = countersOf(db, values)
  const update = touchedKeywords === 0 ? UPDATE_RUN_FLAGS : UPDATE_RUN
  const { changes } = prepared(db, update).run(values)
  if (changes > 0) dropViewBlocks(db, mailboxId, [{ first, last }])
  return {
    ...counters,
    changedCount: changes,
    failedUids: [],
    change: { masked: { first, last, masks } }
  }
}

/**
 * @param {number} keep
 * @param {number} put
 * @returns {number} bits that do not stay as they are, whatever they were
 */
const touchedOf = (keep, put) => (~keep | put) >>> 0

/**
 * @param {Database} db
 * @param {FlagMasks & { touchedFlags: number, modSeq: number, first: number, last: number }} values
 * @returns {{ unseen: number, deleted: number }}
 */
function countersOf(db, values) {
  if ((values.touchedFlags & (SEEN | DELETED)) === 0) return { unseen: 0, deleted: 0 }
  const [unseen, deleted] = /** @type {[number | null, number | null]} */ (
    prepared(
      db,
      `SELECT sum((flags & ${SEEN}) - (${NEW_FLAGS} & ${SEEN})) / ${SEEN},
         sum((${NEW_FLAGS} & ${DELETED}) - (flags & ${DELETED})) / ${DELETED} FROM messages ${RANGE}`,
      'array'
    ).get(values)
  )
  return { unseen: unseen ?? 0, deleted: deleted ?? 0 }
}

/**
 * @param {Database} db
 * @param {FlagPageRequest} request
 * @param {FlagMasks} masks
 * @param {number} modSeq
 * @returns {RowsResult}
 */
function changeEach(db, { mailboxId, uids, unchangedSince }, masks, modSeq) {
  /** @type {number[]} */
  const failedUids = []
  /** @type {ViewRow[]} */
  const updated = []
  let unseen = 0
  let deleted = 0
  const rows = readRows(
    db,
    uids.map((uid) => messageRowId(mailboxId, uid))
  )
  /** @type {number[]} */
  const changedIds = []
  for (const [id, oldModSeq, oldFlags, oldKeywords] of rows) {
    const uid = uidOfRow(id)
    if (unchangedSince !== null && oldModSeq > unchangedSince) {
      failedUids.push(uid)
      continue
    }
    const flags = masked(oldFlags, masks.keepFlags, masks.putFlags)
    const keywords = masked(oldKeywords, masks.keepKeywords, masks.putKeywords)
    if (flags === oldFlags && keywords === oldKeywords) continue
    changedIds.push(id)
    updated.push({ uid, modSeq, flags, keywords })
    unseen += bitCount(oldFlags, SEEN) - bitCount(flags, SEEN)
    deleted += bitCount(flags, DELETED) - bitCount(oldFlags, DELETED)
  }
  writeRows(db, changedIds, { ...masks, modSeq })
  dropViewBlocks(
    db,
    mailboxId,
    updated.map(({ uid }) => ({ first: uid, last: uid }))
  )
  return { changedCount: updated.length, failedUids, unseen, deleted, change: { updated, masks } }
}

/**
 * @typedef {[id: number, modSeq: number, flags: number, keywords: number]} FlagRow
 *
 * @param {Database} db
 * @param {readonly number[]} ids - ascending
 * @returns {FlagRow[]} of those that are there, in this order
 */
function readRows(db, ids) {
  if (ids.length > FEW_ROWS)
    return /** @type {FlagRow[]} */ (
      prepared(
        db,
        `SELECT m.id, m.modseq, m.flags, m.keywords
         FROM json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value`,
        'array'
      ).all(JSON.stringify(ids))
    )
  const read = prepared(
    db,
    'SELECT id, modseq, flags, keywords FROM messages WHERE id = ?',
    'array'
  )
  return ids.flatMap((id) => {
    const row = /** @type {FlagRow | undefined} */ (read.get(id))
    return row === undefined ? [] : [row]
  })
}

/**
 * @param {Database} db
 * @param {readonly number[]} ids
 * @param {FlagMasks & { modSeq: number }} values
 */
function writeRows(db, ids, values) {
  if (ids.length > FEW_ROWS) {
    const write = prepared(db, `${UPDATE} WHERE id IN (SELECT value FROM json_each(@ids))`)
    write.run({ ...values, ids: JSON.stringify(ids) })
    return
  }
  const write = prepared(db, `${UPDATE} WHERE id = @id`)
  for (const id of ids) write.run({ ...values, id })
}

/**
 * @param {number} flags
 * @param {number} bit
 * @returns {0 | 1}
 */
const bitCount = (flags, bit) => ((flags & bit) === 0 ? 0 : 1)
