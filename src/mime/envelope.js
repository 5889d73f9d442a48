/**
 * ENVELOPE as wire bytes: RFC 9051 §7.5.2, RFC 3501 §7.4.2.
 *
 * @typedef {import('./address.js').Address} Address
 * @typedef {import('./byte-writer.js').ByteWriter} ByteWriter
 * @typedef {import('./part-header.js').PartHeader} PartHeader
 *
 * @typedef {object} AddressBudget
 * @property {number} addressesLeft - how many addresses may still be shown; written ones are taken off
 */
import { parseAddressText } from './address.js'
import { MAX_ADDRESSES } from './limits.js'
import { fieldText } from './part-header.js'

/**
 * Writes `(date subject from sender reply-to to cc bcc in-reply-to message-id)`. Text goes out as it came, encoded
 * words and all. An empty field is "", a missing one NIL. Where sender or reply-to are missing or empty, the addresses
 * of from stand there.
 *
 * @param {ByteWriter} writer
 * @param {PartHeader} header - of the message
 * @param {AddressBudget} [budget] - shared by all messages inside one; unbounded by default, MAX_ADDRESSES a field aside
 */
export function writeEnvelope(writer, header, budget = { addressesLeft: Infinity }) {
  writer.raw('(')
  writer.nstring(fieldText(header, 'date'))
  writer.raw(' ')
  writer.nstring(fieldText(header, 'subject'))
  writer.raw(' ')
  const from = addressesOf(header, 'from', budget)
  const fromStart = writer.length
  writeAddresses(writer, from)
  const fromWire = Buffer.from(writer.bytes.subarray(fromStart, writer.length))
  for (const name of ['sender', 'reply-to']) {
    writer.raw(' ')
    const addresses = addressesOf(header, name, budget)
    if (addresses.length === 0) writer.append(fromWire)
    else writeAddresses(writer, addresses)
  }
  for (const name of ['to', 'cc', 'bcc']) {
    writer.raw(' ')
    writeAddresses(writer, addressesOf(header, name, budget))
  }
  writer.raw(' ')
  writer.nstring(fieldText(header, 'in-reply-to'))
  writer.raw(' ')
  writer.nstring(fieldText(header, 'message-id'))
  writer.raw(')')
}

/**
 * @param {PartHeader} header
 * @param {string} lowerName
 * @param {AddressBudget} budget
 * @returns {Address[]} those of all fields of that name, one after the other, MAX_ADDRESSES in all
 */
function addressesOf(header, lowerName, budget) {
  /** @type {Address[]} */
  const addresses = []
  const allowed = Math.min(MAX_ADDRESSES, budget.addressesLeft)
  for (const value of header.fields.get(lowerName) ?? [])
    addresses.push(...parseAddressText(value, allowed - addresses.length))
  budget.addressesLeft -= addresses.length
  return addresses
}

/**
 * @param {ByteWriter} writer
 * @param {Address[]} addresses
 */
function writeAddresses(writer, addresses) {
  if (addresses.length === 0) {
    writer.raw('NIL')
    return
  }
  writer.raw('(')
  for (const { name, route, mailbox, host } of addresses) {
    writer.raw('(')
    writer.nstring(name)
    writer.raw(' ')
    writer.nstring(route)
    writer.raw(' ')
    writer.nstring(mailbox)
    writer.raw(' ')
    writer.nstring(host)
    writer.raw(')')
  }
  writer.raw(')')
}
