/**
 * The rows of `messages` as views need them: which messages there are, and their flags and MODSEQs.
 */
import { setImmediate } from 'node:timers/promises'
import { prepared } from '../database/statement.js'
import { runSnapshot } from '../database/transaction.js'
import { MAX_UID, messageRowId, uidOfRow } from './message-id.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {Pick<import('./account-database.js').AccountDatabase, 'readSettled'>} Source
 * @typedef {Pick<import('./mailbox-rows.js').MailboxRow, 'id' | 'uidNext'>} Mailbox
 *
 * @typedef {[id: number, modSeq: number, flags: number, keywords: number]} Row
 * @typedef {(uid: number, modSeq: number, flags: number, keywords: number) => void} OnRow
 */

/** Rows a slice: about 2 ms. */
const PAGE_ROWS = 5000

/** Words of flags below this share a number with the MODSEQ: the system flags and the first eleven keywords. */
const SHARED_FLAGS = 65_536

/** And MODSEQs below this: what is made of both is a whole number that a double holds. */
const SHARED_MODSEQ = 2 ** 37

const RANGE = 'FROM messages WHERE id > ? AND id <= ? ORDER BY id LIMIT ?'

const STATES = `SELECT CASE WHEN keywords = 0 AND flags < ${SHARED_FLAGS} AND modseq < ${SHARED_MODSEQ}
  THEN modseq * ${SHARED_FLAGS} + flags END ${RANGE}`

/**
 * Reads a page at a time; between two, others have their turn. A read may be tried again, so rows are told after it.
 *
 * @param {Source} database
 * @param {Mailbox} mailbox - rows from its uidNext on came later and are left out
 * @param {OnRow} onRow - called by UID
 */
export async function readAllRows(database, mailbox, onRow) {
  await inPages(mailbox, async (after, end) => {
    const page = await database.readSettled((db) =>
      runSnapshot(db, () => readPage(db, { after, end }))
    )
    return tellPage(page, onRow)
  })
}

/**
 * @param {Source} database
 * @param {Mailbox} mailbox - as above
 * @param {number} since - only rows above this modseq
 * @param {OnRow} onRow - called by UID
 */
export async function readChangedRows(database, mailbox, since, onRow) {
  await inPages(mailbox, async (after, end) => {
    const rows = await database.readSettled((db) => readRows(db, { after, end }))
    return tellRows(rows, (uid, modSeq, flags, keywords) => {
      if (modSeq > since) onRow(uid, modSeq, flags, keywords)
    })
  })
}

/**
 * @param {Mailbox} mailbox
 * @param {(after: number, end: number) => Promise<number | null>} work - from one messages.id to another, which is
 *   inclusive; gives the last one of a full page, null when there is no more
 */
async function inPages(mailbox, work) {
  const end = messageRowId(mailbox.id, Math.min(mailbox.uidNext - 1, MAX_UID))
  let after = /** @type {number | null} */ (messageRowId(mailbox.id, 0))
  while (after !== null && after < end) {
    after = await work(after, end)
    if (after !== null) await setImmediate()
  }
}

/**
 * One number for a row costs half of an array for it, even where each page is gone through twice for that.
 *
 * @param {Database} db - in a snapshot
 * @param {{ after: number, end: number }} range - of messages.id
 * @returns {Row[] | { ids: number[], states: number[] }} rows where one of them does not go into a number
 */
function readPage(db, { after, end }) {
  const states = /** @type {(number | null)[]} */ (
    prepared(db, STATES, 'value').all(after, end, PAGE_ROWS)
  )
  if (states.includes(null)) return readRows(db, { after, end })
  const ids = /** @type {number[]} */ (
    prepared(db, `SELECT id ${RANGE}`, 'value').all(after, end, PAGE_ROWS)
  )
  return { ids, states: /** @type {number[]} */ (states) }
}

/**
 * @param {ReturnType<typeof readPage>} page
 * @param {OnRow} onRow
 * @returns {number | null} as `work` of `inPages`
 */
function tellPage(page, onRow) {
  if (Array.isArray(page)) return tellRows(page, onRow)
  const { ids, states } = page
  for (let row = 0; row < ids.length; row++) {
    const state = /** @type {number} */ (states[row])
    const flags = state % SHARED_FLAGS
    onRow(uidOfRow(/** @type {number} */ (ids[row])), (state - flags) / SHARED_FLAGS, flags, 0)
  }
  return nextAfter(ids.length, ids.at(-1))
}

/**
 * @param {readonly Row[]} rows
 * @param {OnRow} onRow
 * @returns {number | null} as `work` of `inPages`
 */
function tellRows(rows, onRow) {
  for (const [id, modSeq, flags, keywords] of rows) onRow(uidOfRow(id), modSeq, flags, keywords)
  return nextAfter(rows.length, rows.at(-1)?.[0])
}

/**
 * @param {Database} db
 * @param {{ after: number, end: number }} range - of messages.id
 * @returns {Row[]}
 */
function readRows(db, { after, end }) {
  const select = prepared(db, `SELECT id, modseq, flags, keywords ${RANGE}`, 'array')
  return /** @type {Row[]} */ (select.all(after, end, PAGE_ROWS))
}

/**
 * @param {number} count - rows of a page
 * @param {number} [lastId]
 * @returns {number | null} where the next page begins; null: there is none
 */
const nextAfter = (count, lastId = 0) => (count < PAGE_ROWS ? null : lastId)
