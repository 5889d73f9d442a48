/**
 * The internal date of an imported message, for IMAP's INTERNALDATE (RFC 9051 §2.3.3): when it arrived, as far as
 * anything still tells. The order: the date that the format has (Maildir, mbox, tar), the message's Date header, the file's
 * time, now. A date before 1970 or after tomorrow cannot be right and counts as missing.
 */
import { parseMailDate } from '../mime/date.js'
import { parseHeaderFields } from '../mime/header.js'

/** @typedef {import('./import-item.js').ZonedDate} ZonedDate */

/** A date may be at most so many seconds ahead: the clock and zone of an honest sender are not further off. */
const FUTURE_SECONDS = 86_400

/**
 * @param {object} request
 * @param {(ZonedDate | null)[]} request.known - by precedence, before the Date header
 * @param {Buffer} request.head - the message's first bytes
 * @param {ZonedDate | null} request.fallback
 * @param {number} request.nowMs
 * @returns {ZonedDate}
 */
export function chooseInternalDate({ known, head, fallback, nowMs }) {
  const nowSeconds = Math.floor(nowMs / 1000)
  const isPlausible = (/** @type {ZonedDate | null} */ date) =>
    date !== null && date.epochSeconds >= 0 && date.epochSeconds <= nowSeconds + FUTURE_SECONDS
  return (
    known.find(isPlausible) ??
    [dateFromHeader(head), fallback].find(isPlausible) ?? {
      epochSeconds: nowSeconds,
      zoneMinutes: 0
    }
  )
}

/**
 * @param {Buffer} head
 * @returns {ZonedDate | null}
 */
function dateFromHeader(head) {
  const field = parseHeaderFields(head).find(({ lowerName }) => lowerName === 'date')
  return field ? parseMailDate(field.value) : null
}
