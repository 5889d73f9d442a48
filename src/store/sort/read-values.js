/**
 * Reads what messages are sorted by.
 */
import { decodeByteString } from '../../mime/encoded-word.js'
import { firstAddress } from '../../mime/envelope-reader.js'
import { readEnvelopes } from './read-envelopes.js'
import { readPages, sentSeconds } from './read-pages.js'
import { IS_FRESH, JOIN_META, LOCAL_ARRIVAL, LOCAL_SENT, WITH_META } from '../with-meta.js'
import { readNumberOfEach } from './read-numbers.js'
import { readRows } from './read-rows.js'

/** @import { MessageRecord } from '../account-store.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */

/** @typedef {'ARRIVAL' | 'DATE' | 'SIZE'} NumberKey */

/** @typedef {'LOCAL_ARRIVAL' | 'LOCAL_SENT'} LocalKey - a date as it is written, in its own zone */

/** @typedef {'CC' | 'DISPLAYFROM' | 'DISPLAYTO' | 'FROM' | 'TO'} EnvelopeKey */

/** @typedef {EnvelopeKey | 'SUBJECT'} TextKey */

/** @typedef {NumberKey | TextKey} SortKey */

/**
 * @param {SortKey} key
 * @returns {key is NumberKey}
 */
export const isNumberKey = (key) => key === 'ARRIVAL' || key === 'DATE' || key === 'SIZE'

/** What LOCAL_SENT says of a message without a date, seconds since 1970: before all others. */
export const NOT_SENT = -(2 ** 42)

/** @type {Readonly<Record<NumberKey | LocalKey, import('./read-numbers.js').NumberSelect>>} NULL where it must be made anew */
const NUMBERS = {
  ARRIVAL: { value: 'm.internal_date' },
  DATE: ofMeta('coalesce(d.sent_at, m.internal_date)'),
  LOCAL_ARRIVAL: { value: LOCAL_ARRIVAL },
  LOCAL_SENT: ofMeta(`coalesce(${LOCAL_SENT}, ${NOT_SENT})`),
  SIZE: { value: 'm.size' }
}

const SELECT_SUBJECT = `SELECT m.id, CASE WHEN ${IS_FRESH} THEN d.base_subject END ${WITH_META}`

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
 * @param {NumberKey | LocalKey} key
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, value: number) => void} onValue - of a date, seconds; of a size, bytes. Not called for messages that
 *   have gone meanwhile
 * @param {Slicer} slicer
 */
export async function readNumbers(source, key, slots, onValue, slicer) {
  const stale = await readStored(source, key, slots, onValue, slicer)
  for await (const page of readPages(source, stale, { order: true }, slicer))
    for (const { slot, record } of page)
      onValue(slot, key === 'LOCAL_SENT' ? localSentSeconds(record) : sentSeconds(record))
}

/**
 * @param {MessageSource} source
 * @param {NumberKey | LocalKey} key
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, value: number) => void} onValue - as for `readNumbers`
 * @param {Slicer} slicer
 * @returns {Promise<number[]>} slots of messages whose value must be made anew from their contents, ascending
 */
export async function readStored(source, key, slots, onValue, slicer) {
  /** @type {number[]} */
  const stale = []
  /** @type {(slot: number, value: number | null) => void} */
  const take = (slot, value) => {
    if (value === null) stale.push(slot)
    else onValue(slot, value)
  }
  await readNumberOfEach(source, NUMBERS[key], slots, take, slicer)
  return stale
}

/**
 * @param {MessageSource} source
 * @param {TextKey} key
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, text: string) => void} onText - not called for messages that have gone meanwhile
 * @param {Slicer} slicer
 */
export async function readTexts(source, key, slots, onText, slicer) {
  if (key === 'SUBJECT') await readSubjects(source, slots, onText, slicer)
  else {
    const textOf = TEXTS[key]
    await readEnvelopes(source, slots, (slot, bytes) => onText(slot, textOf(bytes)), slicer)
  }
}

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, text: string) => void} onText - takes base subjects
 * @param {Slicer} slicer
 */
async function readSubjects(source, slots, onText, slicer) {
  /** @type {number[]} */
  const stale = []
  for await (const rows of readRows(source, SELECT_SUBJECT, slots, slicer))
    for (const [slot, text] of rows) {
      if (slicer.isSpent) await slicer.breathe()
      if (text === null) stale.push(slot)
      else onText(slot, String(text))
    }
  for await (const page of readPages(source, stale, { order: true }, slicer))
    for (const { slot, record } of page) onText(slot, record.baseSubject ?? '')
}

/**
 * @param {string} value - SQL over `message_meta d`
 * @returns {import('./read-numbers.js').NumberSelect}
 */
function ofMeta(value) {
  return { value: `CASE WHEN ${IS_FRESH} THEN ${value} END`, join: JOIN_META }
}

/**
 * @param {MessageRecord} record - read with `order`
 * @returns {number} seconds, in the zone that the message names
 */
function localSentSeconds({ sentDate }) {
  return sentDate ? sentDate.epochSeconds + sentDate.zoneMinutes * 60 : NOT_SENT
}

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
