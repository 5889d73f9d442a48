/**
 * Between messages and contents: the index knows contents, a mailbox has UIDs.
 */
import { prepared } from '../../database/statement.js'
import { messageRowId, uidOfRow } from '../message-id.js'

/** @typedef {import('./id-list.js').IdList} IdList */
/** @typedef {import('./index-text.js').Source} Source */
/** @typedef {{ uid: number, contentId: number }} Place */

/** Rows in one read: about 3 ms. */
const PAGE_ROWS = 4096

/** Contents that are looked up in one read: about 2 ms. */
const PAGE_CONTENTS = 512

/**
 * @param {Source} database
 * @param {number} mailboxId
 * @param {IdList} contentIds
 * @param {() => Promise<void>} breathe - called between two reads
 * @returns {Promise<Place[]>} the messages of the mailbox that have these contents
 */
export async function placesOf(database, mailboxId, contentIds, breathe) {
  const first = messageRowId(mailboxId, 0)
  const end = messageRowId(mailboxId + 1, 0)
  /** @type {Place[]} */
  const places = []
  for (let start = 0; start < contentIds.length; start += PAGE_CONTENTS) {
    const page = contentIds.subarray(start, start + PAGE_CONTENTS)
    await breathe()
    await database.readSettled((db) => {
      const select = prepared(
        db,
        'SELECT id FROM messages WHERE content_id = ? AND id > ? AND id < ?',
        'value'
      )
      for (const contentId of page)
        for (const id of /** @type {number[]} */ (select.all(contentId, first, end)))
          places.push({ uid: uidOfRow(id), contentId })
    })
  }
  return places
}

/**
 * Reads the content ids of a mailbox in the order of its UIDs.
 *
 * @param {Source} database
 * @param {number} mailboxId
 * @param {() => Promise<void>} breathe - called between two reads
 * @returns {AsyncGenerator<[number, number][]>} pages of UID and content id
 */
export async function* readPlaces(database, mailboxId, breathe) {
  const end = messageRowId(mailboxId + 1, 0)
  for (let after = messageRowId(mailboxId, 0), isMore = true; isMore;) {
    await breathe()
    const rows = /** @type {[number, number][]} */ (
      await database.readSettled((db) =>
        prepared(
          db,
          'SELECT id, content_id FROM messages WHERE id > ? AND id < ? ORDER BY id LIMIT ?',
          'array'
        ).all(after, end, PAGE_ROWS)
      )
    )
    isMore = rows.length === PAGE_ROWS
    after = rows[rows.length - 1]?.[0] ?? end
    for (const row of rows) row[0] = uidOfRow(row[0])
    yield rows
  }
}
