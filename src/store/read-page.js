/**
 * Reads many messages at once for FETCH over a range: SQLite itself strings the rows of a page together, so that a page
 * costs one row and one or two Buffers instead of five hundred (measured: a third of the time of a list goes into
 * making a Buffer for each message).
 */
import { BUILDER_VERSION } from '../mime/message-meta.js'
import { prepared } from '../database/statement.js'
import { messageRowId } from './message-id.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {'row' | 'envelope' | 'bodyStructure' | 'fields' | 'fieldsAndReceived'} PageNeed
 *
 * @typedef {object} MessagePage - the messages of a range; all lists are parallel
 * @property {number[]} uids - ascending
 * @property {number[]} sizes - RFC822.SIZE, bytes
 * @property {number[]} dates - INTERNALDATE, seconds
 * @property {number[]} zones - of INTERNALDATE, minutes
 * @property {number[]} lengths - bytes of each message in `bytes`
 * @property {Buffer} bytes - of all messages, one after the other: ENVELOPE, BODYSTRUCTURE or the index and lines of
 *   src/mime/header-fields.js
 * @property {Buffer} received - the lines of Received of all messages
 */

const NONE = Buffer.alloc(0)

/** @type {Readonly<Record<Exclude<PageNeed, 'row'>, { table: string, column: string }>>} */
const SOURCES = {
  envelope: { table: 'message_envelopes', column: 'envelope' },
  bodyStructure: { table: 'message_structures', column: 'body_structure' },
  fields: { table: 'message_fields', column: 'fields' },
  fieldsAndReceived: { table: 'message_fields', column: 'fields' }
}

/**
 * The numbers of a row as text: strung together in the same steps as the bytes, they say which message these belong to.
 * One that is NULL makes the whole text NULL, which leaves the message out of it.
 */
const NUMBERS = `(m.id & 4294967295) || ' ' || m.size || ' ' || m.internal_date || ' ' || m.internal_zone`

/**
 * @param {PageNeed} need
 * @returns {string}
 */
function selectFor(need) {
  const range = 'WHERE m.id BETWEEN ? AND ?'
  if (need === 'row')
    return `SELECT count(*), group_concat(${NUMBERS} || ' 0', ' '), 0, NULL, NULL FROM messages m ${range}`
  const { table, column } = SOURCES[need]
  const hasReceived = need === 'fieldsAndReceived'
  return `SELECT count(*), group_concat(${NUMBERS} || ' ' || length(d.${column}), ' '), min(d.builder_version),
      CAST(group_concat(d.${column}, '') AS BLOB),
      ${hasReceived ? `CAST(group_concat(r.lines, '') AS BLOB)` : 'NULL'}
    FROM messages m LEFT JOIN ${table} d ON d.content_id = m.content_id
      ${hasReceived ? 'LEFT JOIN message_received r ON r.content_id = m.content_id' : ''} ${range}`
}

/** @type {Readonly<Record<PageNeed, string>>} */
const SELECTS = {
  row: selectFor('row'),
  envelope: selectFor('envelope'),
  bodyStructure: selectFor('bodyStructure'),
  fields: selectFor('fields'),
  fieldsAndReceived: selectFor('fieldsAndReceived')
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {{ firstUid: number, lastUid: number }} range
 * @param {PageNeed} need
 * @returns {MessagePage | null} null when they must be read one by one: something is missing, or was made by an older
 *   version of the code
 */
export function readPage(db, mailboxId, { firstUid, lastUid }, need) {
  const row = /** @type {[number, string | null, number | null, Buffer | null, Buffer | null]} */ (
    prepared(db, SELECTS[need], 'array').get(
      messageRowId(mailboxId, firstUid),
      messageRowId(mailboxId, lastUid)
    )
  )
  const [count, text, version, bytes, received] = row
  const page = parseNumbers(text ?? '')
  const isStale = need !== 'row' && count > 0 && (version ?? 0) < BUILDER_VERSION
  if (isStale || page.uids.length !== count) return null
  return { ...page, bytes: bytes ?? NONE, received: received ?? NONE }
}

/**
 * @param {string} text - five whole numbers for each message, divided by spaces
 * @returns {Pick<MessagePage, 'uids' | 'sizes' | 'dates' | 'zones' | 'lengths'>}
 */
function parseNumbers(text) {
  /** @type {number[]} */
  const uids = []
  /** @type {number[]} */
  const sizes = []
  /** @type {number[]} */
  const dates = []
  /** @type {number[]} */
  const zones = []
  /** @type {number[]} */
  const lengths = []
  const columns = [uids, sizes, dates, zones, lengths]
  let column = 0
  let value = 0
  let isNegative = false
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 32
    if (code === 32) {
      if (text.length > 0) columns[column]?.push(isNegative ? -value : value)
      column = column === 4 ? 0 : column + 1
      value = 0
      isNegative = false
    } else if (code === 45) isNegative = true
    else value = value * 10 + code - 48
  }
  return { uids, sizes, dates, zones, lengths }
}
