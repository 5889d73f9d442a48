/**
 * Between messages and contents: the index knows contents, a mailbox has UIDs.
 */
import { prepared } from '../../database/statement.js'
import { messageRowId, uidOfRow } from '../row-ids.js'
import { rememberRows } from '../remember-contents.js'

/** @typedef {import('./id-list.js').IdList} IdList */
/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('./index-text.js').Source} Source */
/** @typedef {{ uid: number, contentId: number }} Place */

/** Rows in one read: about 2 ms. */
const PAGE_ROWS = 2048

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
  // A content may have any number of messages: `after` is the last one read of the one at hand.
  let after = first
  for (let at = 0; at < contentIds.length;) {
    await breathe()
    await database.readSettled((db) => {
      const select = prepared(
        db,
        'SELECT id FROM messages WHERE content_id = ? AND id > ? AND id < ? ORDER BY id LIMIT ? + 0',
        'value'
      )
      const last = Math.min(at + PAGE_CONTENTS, contentIds.length)
      for (let room = PAGE_ROWS; room > 0 && at < last;) {
        const contentId = /** @type {number} */ (contentIds[at])
        const ids = /** @type {number[]} */ (select.all(contentId, after, end, room))
        for (const id of ids) places.push({ uid: uidOfRow(id), contentId })
        room -= ids.length
        after = room === 0 ? (ids.at(-1) ?? after) : first
        if (room > 0) at++
      }
    })
  }
  return places
}

/** @type {WeakMap<MailboxView, number>} up to which UID a view knows all its contents */
const learnt = new WeakMap()

/**
 * @param {MailboxView} view
 * @returns {boolean} whether it knows the content of each of its messages
 */
export const knowsContents = (view) => (learnt.get(view) ?? 0) >= lastUid(view)

/**
 * @param {MailboxView} view
 * @returns {number}
 */
const lastUid = (view) => view.uids[view.length - 1] ?? 0

/**
 * Makes a view know the content of each of its messages: 8 bytes more for each, and later searches need not ask the file.
 *
 * @param {Source} database
 * @param {MailboxView} view
 * @param {() => Promise<void>} breathe - called between two reads
 * @returns {Promise<void>}
 */
export async function learnContents(database, view, breathe) {
  const end = messageRowId(view.mailboxId + 1, 0)
  for (let isMore = !knowsContents(view); isMore;) {
    await breathe()
    const after = messageRowId(view.mailboxId, learnt.get(view) ?? 0)
    // `rows` may lack a message that comes while the file is read: what is learnt ends at the newest of before.
    const newest = lastUid(view)
    const rows = /** @type {[number, number, number][]} */ (
      await database.readSettled((db) =>
        prepared(
          db,
          'SELECT id, content_id, size FROM messages WHERE id > ? AND id < ? ORDER BY id LIMIT ? + 0',
          'array'
        ).all(after, end, PAGE_ROWS)
      )
    )
    // Synchronous: slots keep their messages meanwhile.
    rememberRows(view, rows)
    const isLast = rows.length < PAGE_ROWS
    const through = isLast ? newest : uidOfRow(rows.at(-1)?.[0] ?? 0)
    // The file may have messages that the view does not know of yet.
    learnt.set(view, Math.min(through, lastUid(view)))
    isMore = !isLast && !knowsContents(view)
  }
}
