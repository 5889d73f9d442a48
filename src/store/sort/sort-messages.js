/**
 * SORT: messages in an order that the client asks for, from what is stored of them. RFC 5256 §3 (BASE.6.4.SORT),
 * RFC 5957 §3 and §4 (DISPLAYFROM, DISPLAYTO).
 */
import { decodeByteString } from '../../mime/encoded-word.js'
import { firstAddress } from '../../mime/envelope-reader.js'
import { Slicer } from '../../support/slicer.js'
import { collationKey, compareValues } from './collation.js'
import { readPages, sentSeconds } from './read-pages.js'
import { sortInSlices } from './sliced-sort.js'

/** @import { AccountStore, MessageRecord } from '../account-store.js' */
/** @import { MailboxView } from '../mailbox-view.js' */

/** @typedef {'ARRIVAL' | 'CC' | 'DATE' | 'DISPLAYFROM' | 'DISPLAYTO' | 'FROM' | 'SIZE' | 'SUBJECT' | 'TO'} SortKey */

/** @typedef {{ key: SortKey, isReverse: boolean }} SortCriterion */

/**
 * @typedef {object} SortRequest
 * @property {AccountStore} store
 * @property {MailboxView} view - whose slots stay in place meanwhile
 * @property {readonly number[]} slots - of the messages to sort, ascending
 * @property {readonly SortCriterion[]} criteria - the first counts most
 * @property {AbortSignal} [signal] - ends the work early
 */

/** @type {Readonly<Record<SortKey, (record: MessageRecord) => string | number>>} */
const VALUES = {
  ARRIVAL: ({ internalDate }) => internalDate.epochSeconds,
  CC: (record) => mailboxOf(record, 'cc'),
  DATE: sentSeconds,
  DISPLAYFROM: (record) => displayNameOf(record, 'from'),
  DISPLAYTO: (record) => displayNameOf(record, 'to'),
  FROM: (record) => mailboxOf(record, 'from'),
  SIZE: ({ size }) => size,
  SUBJECT: ({ baseSubject }) => collationKey(baseSubject ?? ''),
  TO: (record) => mailboxOf(record, 'to')
}

const ENVELOPE_KEYS = new Set(['CC', 'DISPLAYFROM', 'DISPLAYTO', 'FROM', 'TO'])
const META_KEYS = new Set(['DATE', 'SUBJECT'])

/**
 * @param {SortRequest} request
 * @returns {Promise<number[]>} the slots in order; messages that have gone meanwhile are left out
 * @throws {import('../../errors.js').MailError} what the store throws
 * @throws the signal's reason when it was aborted
 */
export async function sortMessages({ store, view, slots, criteria, signal }) {
  const slicer = new Slicer(signal)
  const needs = {
    row: true,
    envelope: criteria.some(({ key }) => ENVELOPE_KEYS.has(key)),
    order: criteria.some(({ key }) => META_KEYS.has(key))
  }
  /** @type {{ slot: number, values: (string | number)[] }[]} */
  const entries = []
  for await (const page of readPages({ store, view }, slots, needs, slicer)) {
    for (const { slot, record } of page) {
      if (slicer.isSpent) await slicer.breathe()
      entries.push({ slot, values: criteria.map(({ key }) => VALUES[key](record)) })
    }
  }
  const signs = criteria.map(({ isReverse }) => (isReverse ? -1 : 1))
  const sorted = await sortInSlices(
    entries,
    (left, right) => {
      // Called some fifteen times for each message: an iterator would cost more than the comparisons.
      for (let index = 0; index < signs.length; index++) {
        const order = compareValues(left.values[index] ?? '', right.values[index] ?? '')
        if (order !== 0) return order * /** @type {number} */ (signs[index])
      }
      return left.slot - right.slot
    },
    slicer
  )
  return sorted.map(({ slot }) => slot)
}

/**
 * @param {MessageRecord} record
 * @param {'from' | 'to' | 'cc'} field
 * @returns {string}
 */
function mailboxOf({ envelope }, field) {
  const address = envelope === undefined ? null : firstAddress(envelope, field)
  return collationKey(decodeByteString(address?.mailbox ?? ''))
}

/**
 * RFC 5957 §3.
 *
 * @param {MessageRecord} record
 * @param {'from' | 'to'} field
 * @returns {string}
 */
function displayNameOf({ envelope }, field) {
  const address = envelope === undefined ? null : firstAddress(envelope, field)
  if (address === null) return ''
  const name = decodeByteString(address.name ?? '')
  if (name !== '') return collationKey(name)
  const mailbox = decodeByteString(address.mailbox ?? '')
  if (address.mailbox === null || address.host === null) return collationKey(mailbox)
  return collationKey(`${mailbox}@${decodeByteString(address.host)}`)
}
