/**
 * SEARCH by the letter of the RFC, simple and slow, over whole messages in memory. It shares no code with the program's
 * own: MIME is cut apart by plain string work, letters are compared by the regular expression engine.
 */
import iconv from 'iconv-lite'
import libmime from 'libmime'

/** @typedef {import('../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */

/** Characters that say where a word may be broken, and that nobody sees. */
const UNSEEN = /[\u00ad\u200b\u2060\ufeff]/g

/**
 * @typedef {object} NaiveMessage
 * @property {number} uid
 * @property {number} sequence
 * @property {Set<string>} flags - lower case
 * @property {boolean} isRecent
 * @property {number} size
 * @property {{ epochSeconds: number, zoneMinutes: number }} internalDate
 * @property {NaiveText} text
 */

/**
 * @typedef {object} NaiveText
 * @property {string} header - the whole of it, decoded
 * @property {{ name: string, value: string }[]} fields - decoded
 * @property {string[]} body - decoded text of every part
 * @property {{ year: number, month: number, day: number } | null} sent
 */

/**
 * @param {Buffer} bytes
 * @param {(html: string) => string} readHtml - what a reader sees of HTML
 * @returns {NaiveText}
 */
export function readNaively(bytes, readHtml) {
  const { fields, rest } = cutHeader(bytes.toString('latin1'))
  return {
    fields,
    header: headerText(fields),
    body: readBody(fields, rest, readHtml),
    sent: sentDay(fields)
  }
}

/**
 * @param {string} text - bytes as latin1
 * @returns {{ fields: { name: string, value: string }[], rest: string }}
 */
function cutHeader(text) {
  const end = /^\r?\n|\r?\n\r?\n/.exec(text)
  const head = end ? text.slice(0, end.index) : text
  const rest = end ? text.slice(end.index + end[0].length) : ''
  const fields = head
    .replace(/[ \t]*\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/)
    .map((line) => /^([^:]+?)[ \t]*:(.*)$/s.exec(line) ?? [line, '', line])
    .map(([, name = '', value = '']) => ({ name, value: decodeValue(value.trim()) }))
  return { fields, rest }
}

/**
 * @param {{ name: string, value: string }[]} fields - without a name: lines that are no field
 * @returns {string}
 */
function headerText(fields) {
  return fields.map(({ name, value }) => (name === '' ? value : `${name}: ${value}`)).join('\n')
}

/**
 * @param {{ name: string, value: string }[]} fields - of a part
 * @returns {string[]} its description and the names of its file
 */
function partNames(fields) {
  const named = ['content-type', 'content-disposition'].flatMap((field) => {
    const { params } = libmime.parseHeaderValue(fieldOf(fields, field))
    return [params.name, params.filename].filter((name) => name !== undefined).map(decodeValue)
  })
  return [...named, fieldOf(fields, 'content-description')].filter((text) => text !== '')
}

/**
 * @param {string} value - bytes as latin1
 * @returns {string}
 */
function decodeValue(value) {
  const bytes = Buffer.from(value, 'latin1')
  const isAscii = bytes.every((byte) => byte < 0x80)
  return libmime.decodeWords(isAscii ? value : bytes.toString('utf8'))
}

/**
 * @param {{ name: string, value: string }[]} fields
 * @param {string} name
 * @returns {string}
 */
function fieldOf(fields, name) {
  return fields.find((field) => field.name.toLowerCase() === name)?.value ?? ''
}

/**
 * @param {{ name: string, value: string }[]} fields
 * @param {string} body - bytes as latin1
 * @param {(html: string) => string} readHtml
 * @param {boolean} [isDigest] - whether parts without a type are messages (RFC 2046 §5.1.5)
 * @returns {string[]}
 */
function readBody(fields, body, readHtml, isDigest = false) {
  const written = fieldOf(fields, 'content-type')
  const { value, params } = libmime.parseHeaderValue(written)
  const isType = /^[^/\s]+\/[^/\s]+$/.test(value.trim())
  const type = isType ? value.trim().toLowerCase() : isDigest ? 'message/rfc822' : 'text/plain'
  const parts = type.startsWith('multipart/') ? cutParts(body, params.boundary) : []
  if (parts.length > 0) {
    return parts.flatMap((part) => {
      const { fields: partFields, rest } = cutHeader(part)
      const texts = readBody(partFields, rest, readHtml, type === 'multipart/digest')
      return [...partNames(partFields), ...texts]
    })
  }
  if (type === 'message/rfc822') {
    const inner = cutHeader(body)
    return [headerText(inner.fields), ...readBody(inner.fields, inner.rest, readHtml)]
  }
  if (!/^(?:text|message|multipart)\//.test(type)) return []
  const bytes = decodeBytes(body, fieldOf(fields, 'content-transfer-encoding').toLowerCase())
  const text = decodeText(bytes, params.charset)
  return [type === 'text/html' ? readHtml(text) : text]
}

/**
 * @param {string} body
 * @param {string | undefined} boundary
 * @returns {string[]} none when the boundary is nowhere: the body is then taken for text
 */
function cutParts(body, boundary) {
  if (!boundary) return []
  /** @type {string[]} */
  const parts = []
  /** @type {string[] | null} */
  let lines = null
  for (const line of body.split('\n')) {
    const bare = line.replace(/[ \t\r]+$/, '')
    if (bare !== `--${boundary}` && bare !== `--${boundary}--`) {
      lines?.push(line)
      continue
    }
    if (lines) parts.push(lines.join('\n').replace(/\r$/, ''))
    lines = bare.length === boundary.length + 2 ? [] : null
    if (!lines) break
  }
  if (lines) parts.push(lines.join('\n'))
  return parts
}

/**
 * @param {string} body - bytes as latin1
 * @param {string} encoding
 * @returns {Buffer}
 */
function decodeBytes(body, encoding) {
  if (encoding.trim() === 'base64') return Buffer.from(body, 'base64')
  if (encoding.trim() !== 'quoted-printable') return Buffer.from(body, 'latin1')
  const text = body
    .replace(/[ \t]+(\r?\n|$)/g, '$1')
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(text, 'latin1')
}

/**
 * @param {Buffer} bytes
 * @param {string | undefined} charset
 * @returns {string}
 */
function decodeText(bytes, charset) {
  const label = charset?.toLowerCase() ?? ''
  if (label === 'iso-2022-jp') return new TextDecoder(label).decode(bytes)
  if (iconv.encodingExists(label) && !/ascii/.test(label)) {
    // A text that says ISO-8859-1 is in windows-1252, its superset, as browsers have it.
    return iconv.decode(bytes, label === 'iso-8859-1' ? 'windows-1252' : label)
  }
  const text = bytes.toString('utf8')
  return text.includes('\ufffd') ? iconv.decode(bytes, 'windows-1252') : text
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/**
 * @param {{ name: string, value: string }[]} fields
 * @returns {{ year: number, month: number, day: number } | null} as written, whatever the zone
 */
function sentDay(fields) {
  const match = /(\d{1,2})[ -]+([a-z]{3})[a-z]*[ -]+(\d{4})/i.exec(fieldOf(fields, 'date'))
  if (!match) return null
  const month = MONTHS.indexOf((match[2] ?? '').toLowerCase()) + 1
  return { year: Number(match[3]), month, day: Number(match[1]) }
}

/**
 * @param {SearchKey} key
 * @param {NaiveMessage} message
 * @param {{ nowSeconds: number, maxUid: number, count: number }} context
 * @returns {boolean}
 */
export function matchesNaively(key, message, context) {
  const { text } = message
  switch (key.op) {
    case 'all':
      return true
    case 'not':
      return !matchesNaively(key.key, message, context)
    case 'and':
      return key.keys.every((part) => matchesNaively(part, message, context))
    case 'or':
      return (
        matchesNaively(key.left, message, context) || matchesNaively(key.right, message, context)
      )
    case 'flag':
      return message.flags.has(key.flag.toLowerCase()) === key.isSet
    case 'recent':
      return message.isRecent
    case 'new':
      return message.isRecent && !message.flags.has('\\seen')
    case 'old':
      return !message.isRecent
    case 'header':
      return text.fields
        .filter(({ name }) => name.toLowerCase() === key.field.toLowerCase())
        .some(({ value }) => contains(value, key.value))
    case 'body':
      return key.value === '' || text.body.some((part) => contains(part, key.value))
    case 'text':
      return (
        key.value === '' || [text.header, ...text.body].some((part) => contains(part, key.value))
      )
    case 'date':
      return compareDays(key, message)
    case 'larger':
      return message.size > key.size
    case 'smaller':
      return message.size < key.size
    case 'sequence':
      return isIn(key.set, message.sequence, context.count)
    case 'uid':
      return isIn(key.set, message.uid, context.maxUid)
    case 'younger':
      return message.internalDate.epochSeconds >= context.nowSeconds - key.seconds
    case 'older':
      return message.internalDate.epochSeconds <= context.nowSeconds - key.seconds
    default:
      throw new Error(`not covered: ${key.op}`)
  }
}

/**
 * @param {Extract<SearchKey, { op: 'date' }>} key
 * @param {NaiveMessage} message
 * @returns {boolean}
 */
function compareDays(key, { internalDate, text }) {
  const { year, month, day } = key.date
  const wanted = year * 10_000 + month * 100 + day
  const local = new Date((internalDate.epochSeconds + internalDate.zoneMinutes * 60) * 1000)
  const arrived = {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate()
  }
  const date = key.which === 'sent' ? text.sent : arrived
  if (!date) return false
  const found = date.year * 10_000 + date.month * 100 + date.day
  if (key.comparison === 'before') return found < wanted
  return key.comparison === 'on' ? found === wanted : found >= wanted
}

/**
 * @param {import('../../src/imap/protocol/values/sequence-set.js').SequenceSet} set
 * @param {number} number
 * @param {number} largest
 * @returns {boolean}
 */
function isIn(set, number, largest) {
  return set.ranges.some(({ from, to }) => {
    const [low, high] = [from || largest, to || largest].sort((left, right) => left - right)
    return Number(low) <= number && number <= Number(high)
  })
}

/**
 * @param {string} text
 * @param {string} part
 * @returns {boolean}
 */
function contains(text, part) {
  const inside = part
    .normalize('NFC')
    .replace(UNSEEN, '')
    .replace(/\p{Zs}/gu, ' ')
  const whole = text
    .normalize('NFC')
    .replace(UNSEEN, '')
    .replace(/\p{Zs}/gu, ' ')
  return new RegExp(inside.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu').test(whole)
}
