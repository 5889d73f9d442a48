/**
 * Reads what messages are sorted by, one column for all of them: rows as wide as others need them, each an object, would
 * take twice the time.
 */
import { prepared } from '../../database/statement.js'
import { decodeByteString } from '../../mime/encoded-word.js'
import { firstAddress } from '../../mime/envelope-reader.js'
import { BUILDER_VERSION } from '../../mime/message-meta.js'
import { messageRowId, uidOfRow } from '../row-ids.js'
import { readEnvelopes } from './read-envelopes.js'
import { readPages, sentSeconds } from './read-pages.js'

/** @import { Database } from '../read-messages.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { MessageRecord } from '../account-store.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */

/** @typedef {'ARRIVAL' | 'DATE' | 'SIZE'} NumberKey */

/** @typedef {'CC' | 'DISPLAYFROM' | 'DISPLAYTO' | 'FROM' | 'TO'} EnvelopeKey */

/** @typedef {EnvelopeKey | 'SUBJECT'} TextKey */

/** @typedef {NumberKey | TextKey} SortKey */

/**
 * @param {SortKey} key
 * @returns {key is NumberKey}
 */
export const isNumberKey = (key) => key === 'ARRIVAL' || key === 'DATE' || key === 'SIZE'

/** Messages a page: some 2 ms. */
const PAGE_MESSAGES = 1024

/** Where they lie so far apart that each is looked up. */
const PAGE_SINGLES = 256

const WITH_META = 'FROM messages m LEFT JOIN message_meta d ON d.content_id = m.content_id'
const IS_FRESH = `d.builder_version >= ${BUILDER_VERSION}`

/** @type {Readonly<Record<NumberKey | 'SUBJECT', string>>} messages.id and the value, NULL where it must be made anew */
const SELECTS = {
  ARRIVAL: 'SELECT m.id, m.internal_date FROM messages m',
  DATE: `SELECT m.id, CASE WHEN ${IS_FRESH} THEN coalesce(d.sent_at, m.internal_date) END ${WITH_META}`,
  SIZE: 'SELECT m.id, m.size FROM messages m',
  SUBJECT: `SELECT m.id, CASE WHEN ${IS_FRESH} THEN d.base_subject END ${WITH_META}`
}

/** @type {Readonly<Record<EnvelopeKey, (envelope: Buffer) => string>>} */
const TEXTS = {
  CC: (envelope) => mailboxOf(envelope, 'cc'),
  DISPLAYFROM: (envelope) => displayNameOf(envelope, 'from'),
  DISPLAYTO: (envelope) => displayNameOf(envelope, 'to'),
  FROM: (envelope) => mailboxOf(envelope, 'from'),
  TO: (envelope) => mailboxOf(envelope, 'to')
}

/**
 * @param {MessageSource} source
 * @param {NumberKey} key
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, value: number) => void} onValue - of a date, seconds; of a size, bytes. Not called for messages that
 *   have gone meanwhile
 * @param {Slicer} slicer
 */
export async function readNumbers(source, key, slots, onValue, slicer) {
  await readColumn(source, key, slots, (slot, value) => onValue(slot, Number(value)), slicer)
}

/**
 * @param {MessageSource} source
 * @param {TextKey} key
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, text: string) => void} onText - not called for messages that have gone meanwhile
 * @param {Slicer} slicer
 */
export async function readTexts(source, key, slots, onText, slicer) {
  if (key === 'SUBJECT')
    await readColumn(source, key, slots, (slot, value) => onText(slot, String(value)), slicer)
  else {
    const textOf = TEXTS[key]
    await readEnvelopes(source, slots, (slot, bytes) => onText(slot, textOf(bytes)), slicer)
  }
}

/**
 * @param {MessageSource} source
 * @param {NumberKey | 'SUBJECT'} key
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, value: number | string) => void} onValue
 * @param {Slicer} slicer
 */
async function readColumn(source, key, slots, onValue, slicer) {
  const { store, view } = source
  /** @type {number[]} */
  const stale = []
  for (let start = 0; start < slots.length;) {
    await slicer.breathe()
    const page = slots.slice(start, start + PAGE_MESSAGES)
    const isDense = uidOf(view, page.at(-1)) - uidOf(view, page[0]) < 2 * page.length
    if (!isDense) page.splice(PAGE_SINGLES)
    const rows = await store.searchAccess.database.readSettled((db) =>
      isDense ? readRange(db, view, page, SELECTS[key]) : readSingles(db, view, page, SELECTS[key])
    )
    let at = 0
    for (const [id, value] of rows) {
      const uid = uidOfRow(id)
      while (uidOf(view, page[at]) < uid) at++
      const slot = page[at] ?? -1
      if (uidOf(view, slot) !== uid) continue
      if (value === null) stale.push(slot)
      else {
        if (slicer.isSpent) await slicer.breathe()
        onValue(slot, value)
      }
    }
    start += page.length
  }
  for await (const page of readPages(source, stale, { order: true }, slicer))
    for (const { slot, record } of page) onValue(slot, valueOf(record, key))
}

/** @typedef {[id: number, value: number | string | null]} Row */

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {readonly number[]} page - slots, ascending
 * @param {string} select
 * @returns {Row[]} by id, with those that lie between
 */
function readRange(db, view, page, select) {
  const [first, last] = [page[0], page.at(-1)].map((slot) =>
    messageRowId(view.mailboxId, uidOf(view, slot))
  )
  const range = prepared(db, `${select} WHERE m.id BETWEEN ? AND ? ORDER BY m.id`, 'array')
  return /** @type {Row[]} */ (range.all(first, last))
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {readonly number[]} page - slots, ascending
 * @param {string} select
 * @returns {Row[]} by id
 */
function readSingles(db, view, page, select) {
  const single = prepared(db, `${select} WHERE m.id = ?`, 'array')
  return page.flatMap((slot) => {
    const row = single.get(messageRowId(view.mailboxId, uidOf(view, slot)))
    return row === undefined ? [] : [/** @type {Row} */ (row)]
  })
}

/**
 * @param {MailboxView} view
 * @param {number | undefined} slot
 * @returns {number} Infinity where there is no slot
 */
const uidOf = (view, slot) => view.uids[slot ?? -1] ?? Infinity

/**
 * @param {MessageRecord} record - read with `order`
 * @param {NumberKey | 'SUBJECT'} key - of what is made of contents
 * @returns {number | string}
 */
const valueOf = (record, key) => (key === 'DATE' ? sentSeconds(record) : (record.baseSubject ?? ''))

/**
 * @param {Buffer} envelope
 * @param {'from' | 'to' | 'cc'} field
 * @returns {string}
 */
const mailboxOf = (envelope, field) =>
  decodeByteString(firstAddress(envelope, field)?.mailbox ?? '')

/**
 * RFC 5957 §3.
 *
 * @param {Buffer} envelope
 * @param {'from' | 'to'} field
 * @returns {string}
 */
function displayNameOf(envelope, field) {
  const address = firstAddress(envelope, field)
  if (address === null) return ''
  const name = decodeByteString(address.name ?? '')
  if (name !== '') return name
  const mailbox = decodeByteString(address.mailbox ?? '')
  if (address.mailbox === null || address.host === null) return mailbox
  return `${mailbox}@${decodeByteString(address.host)}`
}
