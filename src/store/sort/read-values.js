/**
 * Reads what messages are sorted by.
 */
import { decodeByteString } from '../../mime/encoded-word.js'
import { firstAddress } from '../../mime/envelope-reader.js'
import { readEnvelopes } from './read-envelopes.js'
import { readPages, sentSeconds } from './read-pages.js'
import { IS_FRESH, WITH_META } from '../with-meta.js'
import { readRows } from './read-rows.js'

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
  /** @type {number[]} */
  const stale = []
  for await (const rows of readRows(source, SELECTS[key], slots, slicer))
    for (const [slot, value] of rows) {
      if (slicer.isSpent) await slicer.breathe()
      if (value === null) stale.push(slot)
      else onValue(slot, value)
    }
  for await (const page of readPages(source, stale, { order: true }, slicer))
    for (const { slot, record } of page) onValue(slot, valueOf(record, key))
}

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
