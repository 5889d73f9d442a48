/**
 * Tells a view where the contents of its messages are.
 */
import { uidOfRow } from './row-ids.js'

/** @typedef {import('./mailbox-view.js').MailboxView} MailboxView */

/**
 * @param {MailboxView} view
 * @param {{ uids: number[], contentIds: number[], sizes: number[] }} rows - parallel, UIDs ascending; those that the view
 *   does not have, because they are newer, are left out
 */
export function rememberContents(view, { uids, contentIds, sizes }) {
  let slot = view.lowerBound(uids[0] ?? 0)
  for (const [index, uid] of uids.entries()) {
    while (slot < view.length && /** @type {number} */ (view.uids[slot]) < uid) slot++
    if (slot === view.length) return
    if (view.uids[slot] !== uid) continue
    view.rememberContent(slot, contentIds[index] ?? 0, sizes[index] ?? 0)
  }
}

/**
 * @param {MailboxView} view
 * @param {readonly [id: number, contentId: number, size: number][]} rows - of `messages`, by id
 */
export function rememberRows(view, rows) {
  rememberContents(view, {
    uids: rows.map(([id]) => uidOfRow(id)),
    contentIds: rows.map(([, contentId]) => contentId),
    sizes: rows.map(([, , size]) => size)
  })
}
