/**
 * Reads many messages at once for FETCH over a range: SQLite itself strings the numbers of a page together, and what the
 * list is made of comes in blocks, so that a page costs a few rows and Buffers instead of five hundred (measured: a third
 * of the time of a list goes into making a Buffer for each message).
 */
import { prepared } from '../database/statement.js'
import { BlockReader } from './block-reader.js'
import { BlockArena } from './list-blocks.js'
import { messageRowId } from './row-ids.js'
import { isStale } from './meta-rows.js'
import { rememberContents } from './remember-contents.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {'row' | 'envelope' | 'bodyStructure' | 'fields' | 'fieldsAndReceived'} PageNeed
 *
 * @typedef {object} PageRange - of up to 500 messages
 * @property {number} firstUid
 * @property {number} lastUid
 * @property {boolean} withDates - whether INTERNALDATE is asked for
 *
 * @typedef {object} MessagePage - the messages of a range; all lists are parallel
 * @property {number[]} uids - ascending
 * @property {number[]} sizes - RFC822.SIZE, bytes
 * @property {number[]} dates - INTERNALDATE, seconds; may be empty where it was not asked for
 * @property {number[]} zones - of INTERNALDATE, minutes; empty likewise
 * @property {number[]} lengths - bytes of each message in `bytes`
 * @property {Buffer} bytes - of all messages, one after the other: ENVELOPE, BODYSTRUCTURE or the index and lines of
 *   src/mime/header-fields.js
 * @property {Buffer} received - the lines of Received of all messages
 * @property {boolean} isWhole - false: it ends with the last message that is in it, before the end of the range
 *
 * @typedef {Pick<MessagePage, 'uids' | 'sizes' | 'dates' | 'zones'> & { contentIds: number[] }} PageRows
 */

const NONE = Buffer.alloc(0)

/** One read at a time, and what a page gives is copied out of it. */
const arena = new BlockArena()

/**
 * After this much a page ends, bytes: the messages of a small mailbox may be scattered over as many blocks as there
 * are messages.
 */
const PAGE_BYTES = 1024 * 1024

/** @type {Readonly<Record<'envelope' | 'bodyStructure' | 'fields', string>>} */
const ROWS = {
  envelope: 'SELECT builder_version, envelope FROM message_envelopes WHERE content_id = ?',
  bodyStructure:
    'SELECT builder_version, body_structure FROM message_structures WHERE content_id = ?',
  fields: 'SELECT builder_version, fields FROM message_fields WHERE content_id = ?'
}

/**
 * @param {Database} db - in a snapshot: what is in no block yet, and in no row any more, would be missing
 * @param {MailboxView} view - learns where the messages' contents are, so that the rows need not be read again
 * @param {PageRange} range
 * @param {PageNeed} need
 * @returns {MessagePage | null} null when they must be read one by one: something is missing, or was made by an older
 *   version of the code
 */
export function readPage(db, view, range, need) {
  const rows = (range.withDates ? null : rowsOfView(view, range)) ?? readRows(db, view, range)
  const { contentIds, ...page } = rows
  if (need === 'row')
    return { ...page, lengths: page.uids.map(() => 0), bytes: NONE, received: NONE, isWhole: true }
  const kind = need === 'fieldsAndReceived' ? 'fields' : need
  const hasReceived = need === 'fieldsAndReceived'
  arena.reset()
  const blocks = new BlockReader(db, arena)
  const main = new Pieces()
  const received = new Pieces()
  /** @type {number[]} */
  const lengths = []
  let rowBytes = 0
  for (const contentId of contentIds) {
    if (blocks.bytes + rowBytes >= PAGE_BYTES) break
    const block = blocks.holding(kind, contentId)
    if (block) {
      lengths.push(main.add(block.bytes, block.start, block.end))
      const lines = hasReceived ? blocks.holding('received', contentId) : null
      if (lines) received.add(lines.bytes, lines.start, lines.end)
    } else {
      const bytes = readListRow(db, kind, contentId)
      if (bytes === null) return null
      lengths.push(main.add(bytes, 0, bytes.length))
      const lines = hasReceived ? readReceivedRow(db, contentId) : null
      if (lines) received.add(lines, 0, lines.length)
      rowBytes += bytes.length + (lines?.length ?? 0)
    }
  }
  const isWhole = lengths.length === contentIds.length
  if (!isWhole) for (const list of Object.values(page)) list.splice(lengths.length)
  return { ...page, lengths, bytes: main.joined(), received: received.joined(), isWhole }
}

/**
 * @param {Database} db
 * @param {'envelope' | 'bodyStructure' | 'fields'} kind
 * @param {number} contentId
 * @returns {Buffer | null} null: there is none, or it must be made again
 */
export function readListRow(db, kind, contentId) {
  const row = /** @type {[number, Buffer | null] | undefined} */ (
    prepared(db, ROWS[kind], 'array').get(contentId)
  )
  return row === undefined || isStale(row[0]) ? null : row[1]
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @returns {Buffer | undefined} undefined: the message has no such lines
 */
export const readReceivedRow = (db, contentId) =>
  /** @type {Buffer | undefined} */ (
    prepared(db, 'SELECT lines FROM message_received WHERE content_id = ?', 'value').get(contentId)
  )

/** Pieces of Buffers that are to be one; neighbours are copied as one run. */
class Pieces {
  /** @type {Buffer[]} */
  #pieces = []
  #bytes = 0
  /** @type {Buffer} */
  #source = NONE
  #from = 0
  #to = 0

  /**
   * @param {Buffer} source
   * @param {number} from
   * @param {number} to - exclusive
   * @returns {number} bytes
   */
  add(source, from, to) {
    if (source === this.#source && from === this.#to) this.#to = to
    else {
      this.#endRun()
      this.#source = source
      this.#from = from
      this.#to = to
    }
    this.#bytes += to - from
    return to - from
  }

  /** @returns {Buffer} in memory of its own */
  joined() {
    this.#endRun()
    const joined = Buffer.allocUnsafeSlow(this.#bytes)
    let at = 0
    for (const piece of this.#pieces) at += piece.copy(joined, at)
    return joined
  }

  #endRun() {
    if (this.#to > this.#from) this.#pieces.push(this.#source.subarray(this.#from, this.#to))
  }
}

/**
 * @param {MailboxView} view
 * @param {PageRange} range
 * @returns {PageRows | null} null: it does not know where all of the contents are
 */
function rowsOfView(view, { firstUid, lastUid }) {
  const rows = noRows()
  for (let slot = view.lowerBound(firstUid); slot < view.length; slot++) {
    const uid = /** @type {number} */ (view.uids[slot])
    if (uid > lastUid) break
    if (view.isExpunged(slot)) continue
    const contentId = view.contentIds[slot]
    if (!contentId) return null
    rows.uids.push(uid)
    rows.sizes.push(/** @type {number} */ (view.sizes[slot]))
    rows.contentIds.push(contentId)
  }
  return rows
}

/**
 * @param {Database} db
 * @param {MailboxView} view - learns what is read
 * @param {PageRange} range
 * @returns {PageRows}
 */
function readRows(db, view, { firstUid, lastUid }) {
  const text = /** @type {string | null} */ (
    prepared(
      db,
      `SELECT group_concat((id & 4294967295) || ' ' || size || ' ' || content_id || ' ' || internal_date || ' '
         || internal_zone, ' ') FROM messages WHERE id BETWEEN ? AND ?`,
      'value'
    ).get(messageRowId(view.mailboxId, firstUid), messageRowId(view.mailboxId, lastUid))
  )
  const rows = parseNumbers(text ?? '')
  rememberContents(view, rows)
  return rows
}

/** @returns {PageRows} */
const noRows = () => ({ uids: [], sizes: [], contentIds: [], dates: [], zones: [] })

/**
 * @param {string} text - five whole numbers for each message, divided by spaces
 * @returns {PageRows}
 */
function parseNumbers(text) {
  const rows = noRows()
  const columns = [rows.uids, rows.sizes, rows.contentIds, rows.dates, rows.zones]
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
  return rows
}
