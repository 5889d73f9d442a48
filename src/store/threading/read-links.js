/**
 * Reads what REFERENCES threads by: identifiers, and along with them dates and subjects, which lie in the same rows.
 */
import { sentSeconds } from '../sort/read-pages.js'
import { readRows } from '../sort/read-rows.js'
import { IS_FRESH, WITH_META } from '../with-meta.js'

/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/**
 * @typedef {object} Links - of a message
 * @property {number} slot
 * @property {string | null} messageId
 * @property {string | null} inReplyTo
 * @property {readonly string[]} references
 * @property {number} sentAt - seconds
 * @property {string} baseSubject
 */

const SELECT = `SELECT m.id, CASE WHEN ${IS_FRESH} THEN d.reference_list END, d.message_id, d.in_reply_to,
  coalesce(d.sent_at, m.internal_date), d.base_subject ${WITH_META}`

/** Messages whose rows are made anew together. */
const STALE_PAGE = 250

/** @type {readonly string[]} */
const NO_REFERENCES = []

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {AsyncGenerator<Links[], void, void>} pages in the order of the slots; messages that have gone meanwhile are left
 *   out. One may name hundreds of others: the slicer is to be asked before each
 */
export async function* readLinks(source, slots, slicer) {
  for await (const rows of readRows(source, SELECT, slots, slicer)) {
    /** @type {Links[]} */
    const page = []
    /** @type {number[]} */
    const stale = []
    for (const [slot, list, messageId, inReplyTo, sentAt, baseSubject] of rows) {
      if (slicer.isSpent) await slicer.breathe()
      if (list === null) stale.push(slot)
      else {
        const links = {
          slot,
          references: parseList(list),
          messageId,
          inReplyTo,
          sentAt,
          baseSubject
        }
        page.push(/** @type {Links} */ (links))
      }
    }
    if (stale.length > 0) {
      page.push(...(await readStale(source, stale)))
      page.sort((left, right) => left.slot - right.slot)
    }
    yield page
  }
}

/**
 * @param {string | number} list - JSON
 * @returns {readonly string[]}
 */
const parseList = (list) => (list === '[]' ? NO_REFERENCES : JSON.parse(String(list)))

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - of messages whose rows older code has made, ascending
 * @returns {Promise<Links[]>}
 */
async function readStale({ store, view }, slots) {
  /** @type {Links[]} */
  const all = []
  for (let start = 0; start < slots.length; start += STALE_PAGE) {
    const uids = slots.slice(start, start + STALE_PAGE).map((slot) => view.uids[slot] ?? 0)
    for (const record of await store.readMessages(view.mailboxId, uids, { search: true }))
      all.push({
        slot: view.slotOf(record.uid),
        messageId: record.messageId ?? null,
        inReplyTo: record.inReplyTo ?? null,
        references: record.references ?? NO_REFERENCES,
        sentAt: sentSeconds(record),
        baseSubject: record.baseSubject ?? ''
      })
  }
  return all
}
