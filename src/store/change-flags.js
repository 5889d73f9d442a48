/**
 * STORE: flags of messages, a transaction for each page.
 */
import { prepared } from '../database/statement.js'
import { DELETED, SEEN } from './flags.js'
import { inPages } from './in-pages.js'
import { withKeywords } from './keyword-rows.js'
import { moveCounters, nextModSeq, requireMailboxRowById } from './mailbox-rows.js'
import { messageRowId, uidOfRow } from './message-id.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./flags.js').FlagWords} FlagWords
 * @typedef {import('./flags.js').KeywordTable} KeywordTable
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
 * @typedef {'set' | 'add' | 'remove'} FlagAction
 *
 * @typedef {object} FlagPage
 * @property {number[]} changedUids - whose flags are different now
 * @property {number[]} failedUids - left alone because their modseq is above `unchangedSince` (RFC 7162 §3.1.3)
 * @property {number} modSeq - the mailbox's after it
 * @property {ViewRow[]} rows - of changedUids
 * @property {KeywordTable} keywords - with the new ones
 *
 * @typedef {object} FlagRequest
 * @property {import('./mailbox-view.js').MailboxView} view
 * @property {readonly number[]} uids - ascending; those that are gone are left out
 * @property {FlagAction} action
 * @property {readonly string[]} flags
 * @property {number | null} [unchangedSince] - RFC 7162 §3.1.3
 * @property {unknown} [origin] - comes back in the change record
 * @property {boolean} [isLazy] - for an implicit \Seen: resolves after COMMIT. The views are told, as always, when it
 *   is on the disk
 *
 * @typedef {object} FlagOutcome
 * @property {number[]} changedUids
 * @property {number[]} failedUids
 * @property {number} modSeq - the mailbox's
 */

/** Messages in one transaction: about 10 ms. */
const FLAG_PAGE = 2000

/**
 * @param {object} store
 * @param {import('./account-database.js').AccountDatabase} store.database
 * @param {import('./views.js').ViewKeeper} store.views
 * @param {import('./account-keywords.js').AccountKeywords} store.keywords
 * @param {FlagRequest} request
 * @returns {Promise<FlagOutcome>}
 */
export async function changeFlags({ database, views, keywords }, request) {
  const {
    view,
    uids,
    action,
    flags,
    unchangedSince = null,
    origin = null,
    isLazy = false
  } = request
  const { mailboxId } = view
  database.requireWritable()
  /** @type {FlagOutcome} */
  const outcome = { changedUids: [], failedUids: [], modSeq: view.highestModSeq }
  const changePage = (/** @type {readonly number[]} */ page) =>
    database.write(
      (db) => {
        const known = keywords.table
        const what = { mailboxId, uids: page, action, flags, unchangedSince, keywords: known }
        return changeFlagRows(db, what)
      },
      (result) => {
        keywords.adopt(result.keywords)
        const { rows: updated, modSeq } = result
        if (updated.length > 0) return views.publish({ mailboxId, modSeq, updated, origin })
      },
      { isLazy }
    )
  const pages = await inPages(
    uids,
    // A keyword that is new has its number once the first page is through.
    { pageSize: FLAG_PAGE, mayOverlap: () => flags.every((name) => keywords.table.find(name)) },
    changePage
  )
  for (const { changedUids, failedUids, modSeq } of pages) {
    for (const uid of changedUids) outcome.changedUids.push(uid)
    for (const uid of failedUids) outcome.failedUids.push(uid)
    outcome.modSeq = modSeq
  }
  return outcome
}

/**
 * @param {FlagWords} old
 * @param {FlagWords} words
 * @param {FlagAction} action
 * @returns {FlagWords}
 */
function combine(old, words, action) {
  switch (action) {
    case 'set':
      return words
    case 'add':
      return {
        flags: (old.flags | words.flags) >>> 0,
        keywords: (old.keywords | words.keywords) >>> 0
      }
    case 'remove':
      return {
        flags: (old.flags & ~words.flags) >>> 0,
        keywords: (old.keywords & ~words.keywords) >>> 0
      }
  }
}

/**
 * @param {Database} db
 * @param {object} request
 * @param {number} request.mailboxId
 * @param {readonly number[]} request.uids - up to FLAG_PAGE
 * @param {FlagAction} request.action
 * @param {readonly string[]} request.flags
 * @param {number | null} request.unchangedSince
 * @param {KeywordTable} request.keywords - of the account
 * @returns {FlagPage}
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND, LIMIT, CANNOT
 */
function changeFlagRows(db, request) {
  const { mailboxId, uids, action, flags, unchangedSince } = request
  const mailbox = requireMailboxRowById(db, mailboxId)
  // A keyword that nobody has ever set cannot be removed either, and needs no number for that.
  const known = action === 'remove' ? flags.filter((name) => request.keywords.find(name)) : flags
  const keywords = withKeywords(db, known, request.keywords)
  const words = keywords.wordsOf(known)
  const modSeq = nextModSeq(mailbox)
  const failedUids = []
  /** @type {ViewRow[]} */
  const rows = []
  let unseen = 0
  let deleted = 0
  const old = readWords(db, mailboxId, uids)
  for (const [id, oldModSeq, oldFlags, oldKeywords] of old) {
    const uid = uidOfRow(id)
    if (unchangedSince !== null && oldModSeq > unchangedSince) {
      failedUids.push(uid)
      continue
    }
    const next = combine({ flags: oldFlags, keywords: oldKeywords }, words, action)
    if (next.flags === oldFlags && next.keywords === oldKeywords) continue
    rows.push({ uid, modSeq, flags: next.flags, keywords: next.keywords })
    unseen += bitCount(oldFlags, SEEN) - bitCount(next.flags, SEEN)
    deleted += bitCount(next.flags, DELETED) - bitCount(oldFlags, DELETED)
  }
  if (rows.length === uids.length && isDense(uids)) updateRange(db, mailboxId, rows, words, action)
  else updateRows(db, mailboxId, rows)
  // RFC 7162 §3.1: what changes nothing gets no new mod-sequence.
  if (rows.length > 0) moveCounters(db, mailbox, { unseen, deleted })
  return {
    changedUids: rows.map(({ uid }) => uid),
    failedUids,
    modSeq: rows.length > 0 ? modSeq : mailbox.highestModSeq,
    rows,
    keywords
  }
}

/**
 * @param {readonly number[]} uids - ascending
 * @returns {boolean} whether no UID lies between them
 */
const isDense = (uids) => (uids.at(-1) ?? 0) - (uids[0] ?? 0) === uids.length - 1

/** @typedef {[id: number, modSeq: number, flags: number, keywords: number]} WordsRow */

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {readonly number[]} uids - ascending
 * @returns {WordsRow[]} those that are there
 */
function readWords(db, mailboxId, uids) {
  const select = 'SELECT id, modseq, flags, keywords FROM messages WHERE id'
  if (uids.length > 1 && isDense(uids)) {
    const range = prepared(db, `${select} BETWEEN ? AND ? ORDER BY id`, 'array')
    const first = messageRowId(mailboxId, uids[0] ?? 0)
    return /** @type {WordsRow[]} */ (range.all(first, first + uids.length - 1))
  }
  const single = prepared(db, `${select} = ?`, 'array')
  const rows = []
  for (const uid of uids) {
    const row = /** @type {WordsRow | undefined} */ (single.get(messageRowId(mailboxId, uid)))
    if (row) rows.push(row)
  }
  return rows
}

/** What `combine` does, in SQL; the parameters are modseq, flags, keywords, first id, last id. */
const RANGE_UPDATES = {
  set: 'flags = ?, keywords = ?',
  add: 'flags = flags | ?, keywords = keywords | ?',
  remove: 'flags = flags & ~?, keywords = keywords & ~?'
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {readonly ViewRow[]} rows - all messages of a range, each of which changes
 * @param {FlagWords} words
 * @param {FlagAction} action
 */
function updateRange(db, mailboxId, rows, { flags, keywords }, action) {
  const [first] = rows
  if (first === undefined) return
  const id = messageRowId(mailboxId, first.uid)
  prepared(
    db,
    `UPDATE messages SET modseq = ?, ${RANGE_UPDATES[action]} WHERE id BETWEEN ? AND ?`
  ).run(first.modSeq, flags, keywords, id, id + rows.length - 1)
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {readonly ViewRow[]} rows
 */
function updateRows(db, mailboxId, rows) {
  const update = prepared(
    db,
    'UPDATE messages SET modseq = ?, flags = ?, keywords = ? WHERE id = ?'
  )
  for (const { uid, modSeq, flags, keywords } of rows)
    update.run(modSeq, flags, keywords, messageRowId(mailboxId, uid))
}

/**
 * @param {number} flags
 * @param {number} bit
 * @returns {0 | 1}
 */
const bitCount = (flags, bit) => ((flags & bit) === 0 ? 0 : 1)
