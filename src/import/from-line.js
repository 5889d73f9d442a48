/**
 * The line that begins a message in an mbox: `From sender date`, RFC 4155 §A. The date is that of C's asctime, without
 * a zone (UTC by RFC 4155) or with one before or after the year. Old lines say behind the date from which host the message came
 * by UUCP.
 */

/** A From_ line begins with these bytes. */
export const FROM = Buffer.from('From ')

const GREATER = 0x3e

/** @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** The line of newer versions of Thunderbird: without a date and a sender, for whom older ones wrote a dash. */
const BARE = /^From -?\s*$/

/** Behind the year, a zone's name must be in capitals: a sentence may end with a date and a word. */
const ASCTIME =
  /\b(?<month>[A-Za-z]{3})\s+(?<day>\d{1,2})\s+(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}))?(?:\s+(?<before>[+-]\d{4}|[A-Za-z]{3,4}(?:\s+DST)?))?\s+(?<year>\d{4})(?:\s+(?<after>[+-]\d{4}|[A-Z]{3,4}))?(?:\s+remote from \S+)?\s*$/

/** The year before the time, as ImportExportTools NG for Thunderbird wrote it. */
const YEAR_FIRST =
  /^From \S+\s+[A-Za-z]{3}\s+(?<month>[A-Za-z]{3})\s+(?<day>\d{1,2})\s+(?<year>\d{4})\s+(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}))?\s*$/

/**
 * @param {string} line - a line that begins with `From `, without its line end
 * @returns {boolean} whether the line has neither sender nor date
 */
export const isBareFromLine = (line) => BARE.test(line)

/**
 * @param {Buffer} line - without its line end
 * @returns {ZonedDate | null} null when the line has no date that can be read
 */
export function parseFromLineDate(line) {
  const text = line.toString('latin1')
  const fields = (ASCTIME.exec(text) ?? YEAR_FIRST.exec(text))?.groups
  if (!fields) return null
  const month = MONTHS.indexOf((fields.month ?? '').toLowerCase())
  const [day, hour, minute, second, year] = [
    fields.day,
    fields.hour,
    fields.minute,
    fields.second ?? '0',
    fields.year
  ].map(Number)
  if (month === -1) return null
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const local = new Date(0)
  local.setUTCFullYear(year ?? 0, month, day)
  const localMs = local.setUTCHours(hour ?? 0, minute, second)
  if (!Number.isFinite(localMs)) return null
  const zoneMinutes = parseZone(fields.after ?? fields.before ?? '')
  return { epochSeconds: localMs / 1000 - zoneMinutes * 60, zoneMinutes }
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {number} behind the `>` that stand there, with which lines are quoted that would begin a message
 */
export function marksEnd(bytes, at) {
  let end = at
  while (bytes[end] === GREATER) end++
  return end
}

/**
 * @param {string} zone - `+hhmm`; names of zones are ambiguous and count as UTC
 * @returns {number} minutes east of Greenwich
 */
function parseZone(zone) {
  const [, sign, hours, minutes] = /^([+-])(\d{2})(\d{2})$/.exec(zone) ?? []
  if (!sign) return 0
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
