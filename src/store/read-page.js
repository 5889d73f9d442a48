/**
 * Reads many messages at once for FETCH of lists: SQLite itself strings the numbers of a page together, and what the
 * list is made of comes in blocks, so that a page costs a few rows and Buffers instead of five hundred (measured: a third
 * of the time of a list goes into making a Buffer for each message).
 */
import { prepared } from '../database/statement.js'
import { BlockReader } from './block-reader.js'
import { areClose } from './close-slots.js'
import { numbersIn } from './joined-numbers.js'
import { BlockArena } from './list-blocks.js'
import { messageRowId } from './row-ids.js'
import { APART_TABLES, isStale } from './meta-rows.js'
import { rememberContents } from './remember-contents.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('../mime/field-choice.js').FieldChoice} FieldChoice
 * @typedef {import('../mime/listed-fields.js').ApartKind} ApartKind
 * @typedef {'envelope' | 'bodyStructure' | 'fields' | ApartKind} ColumnKind
 *
 * @typedef {object} PageNeeds
 * @property {boolean} withDates - whether INTERNALDATE is asked for
 * @property {readonly ColumnKind[]} columns
 * @property {readonly FieldChoice[]} [choices] - of header fields: the page ends before a message whose `fields` do not tell them
 * @property {'none' | 'kept' | 'all'} previews - `kept`: those that have been made; `all`: the page ends before a message
 *   that has none
 *
 * @typedef {object} PageColumn
 * @property {number[]} starts - where in `bytes` each message begins, and behind them where the last one ends
 * @property {Buffer} bytes - of all messages, one after the other: ENVELOPE, BODYSTRUCTURE, the index and lines of
 *   src/mime/header-fields.js, or the lines that stand apart from these
 *
 * @typedef {object} MessagePage - all lists are parallel
 * @property {number[]} uids - ascending; of messages that lie close together, those between them are there as well
 * @property {number[]} sizes - RFC822.SIZE, bytes
 * @property {number[]} contentIds
 * @property {number[]} dates - INTERNALDATE, seconds; may be empty where it was not asked for
 * @property {number[]} zones - of INTERNALDATE, minutes; empty likewise
 * @property {Partial<Record<ColumnKind, PageColumn>>} columns
 * @property {(string | null)[]} previews - null: not made yet; empty where they were not asked for
 * @property {boolean} isWhole - false: it ends with the last message that is in it, before the last one that was asked for
 *
 * @typedef {Pick<MessagePage, 'uids' | 'sizes' | 'contentIds' | 'dates' | 'zones'>} PageRows
 */

const NONE = Buffer.alloc(0)

/** One read at a time, and what a page gives is copied out of it. */
const arena = new BlockArena()

/**
 * After this much a page ends, bytes: the messages of a small mailbox may be scattered over as many blocks as there
 * are messages.
 */
const PAGE_BYTES = 1024 * 1024

const linesOf = (/** @type {ApartKind} */ kind) =>
  `SELECT lines FROM ${APART_TABLES[kind]} WHERE content_id = ?`

/** @type {Readonly<Record<ColumnKind, string>>} */
const ROWS = {
  envelope: 'SELECT builder_version, envelope FROM message_envelopes WHERE content_id = ?',
  bodyStructure:
    'SELECT builder_version, body_structure FROM message_structures WHERE content_id = ?',
  fields: 'SELECT builder_version, fields FROM message_fields WHERE content_id = ?',
  received: linesOf('received'),
  signatures: linesOf('signatures'),
  rest: linesOf('rest')
}

/**
 * @param {Database} db - in a snapshot: what is in no block yet, and in no row any more, would be missing
 * @param {MailboxView} view - learns where the messages' contents are, so that the rows need not be read again
 * @param {readonly number[]} slots - of up to 500 messages, ascending
 * @param {PageNeeds} needs
 * @returns {MessagePage | null} null when the first message must be read by itself: something is missing, or was made by
 *   an older version of the code
 */
export function readPage(db, view, slots, { withDates, columns: kinds, choices = [], previews }) {
  const page = (withDates ? null : rowsOfView(view, slots)) ?? readRows(db, view, slots, withDates)
  const { contentIds } = page
  arena.reset()
  const blocks = new BlockReader(db, arena)
  const columns = kinds.map(
    (kind) => new ColumnReader(db, blocks, kind, kind === 'fields' ? choices : [])
  )
  /** @type {(string | null)[]} */
  const madePreviews = []
  let count = 0
  let rowBytes = 0
  for (const contentId of contentIds) {
    if (blocks.bytes + rowBytes >= PAGE_BYTES) break
    const preview = previews === 'none' ? null : readPreviewRow(db, contentId)
    if (preview === null && previews === 'all') break
    if (!columns.every((column) => column.find(contentId))) break
    for (const column of columns) rowBytes += column.take()
    if (previews !== 'none') madePreviews.push(preview)
    count++
  }
  if (count === 0 && contentIds.length > 0) return null
  const isWhole = count === contentIds.length
  if (!isWhole) for (const list of Object.values(page)) list.splice(count)
  return {
    ...page,
    columns: Object.fromEntries(columns.map((column) => [column.kind, column.joined()])),
    previews: madePreviews,
    isWhole
  }
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
 * @param {ApartKind} kind
 * @param {number} contentId
 * @returns {Buffer | undefined} undefined: the message has no such lines
 */
export const readApartRow = (db, kind, contentId) =>
  /** @type {Buffer | undefined} */ (prepared(db, ROWS[kind], 'value').get(contentId))

/**
 * @param {Database} db
 * @param {number} contentId
 * @returns {string | null} null: it has not been made yet
 */
export const readPreviewRow = (db, contentId) =>
  /** @type {string | null | undefined} */ (
    prepared(db, 'SELECT preview FROM message_meta WHERE content_id = ?', 'value').get(contentId)
  ) ?? null

/** One kind of what a list is made of, of all messages of a page. */
class ColumnReader {
  #db
  #blocks
  #choices
  #pieces = new Pieces()
  #starts = [0]
  #length = 0
  /** @type {Buffer} */
  #bytes = NONE
  #start = 0
  #end = 0
  #isRow = false

  /**
   * @param {Database} db
   * @param {BlockReader} blocks
   * @param {ColumnKind} kind
   * @param {readonly FieldChoice[]} choices - that each message's must tell
   */
  constructor(db, blocks, kind, choices) {
    this.#db = db
    this.#blocks = blocks
    this.#choices = choices
    this.kind = kind
  }

  /**
   * @param {number} contentId
   * @returns {boolean} whether this message's is there; `take` takes it
   */
  find(contentId) {
    const packed = this.#blocks.holding(this.kind, contentId)
    const bytes = packed?.bytes ?? readRow(this.#db, this.kind, contentId)
    if (bytes === null) return false
    this.#isRow = packed === null
    this.#bytes = bytes
    this.#start = packed?.start ?? 0
    this.#end = packed?.end ?? bytes.length
    for (const choice of this.#choices)
      if (!choice.isToldBy(bytes, this.#start, this.#end)) return false
    return true
  }

  /** @returns {number} bytes that were read for this message alone */
  take() {
    this.#pieces.add(this.#bytes, this.#start, this.#end)
    this.#length += this.#end - this.#start
    this.#starts.push(this.#length)
    return this.#isRow ? this.#bytes.length : 0
  }

  /** @returns {PageColumn} */
  joined() {
    return { starts: this.#starts, bytes: this.#pieces.joined() }
  }
}

/**
 * @param {Database} db
 * @param {ColumnKind} kind
 * @param {number} contentId
 * @returns {Buffer | null} null as `readListRow` gives it
 */
const readRow = (db, kind, contentId) =>
  kind === 'envelope' || kind === 'bodyStructure' || kind === 'fields'
    ? readListRow(db, kind, contentId)
    : (readApartRow(db, kind, contentId) ?? NONE)

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
 * @param {readonly number[]} slots
 * @returns {PageRows | null} null: it does not know where all of the contents are
 */
function rowsOfView(view, slots) {
  /** @type {PageRows} */
  const rows = { uids: [], sizes: [], contentIds: [], dates: [], zones: [] }
  for (const slot of slots) {
    if (view.isExpunged(slot)) continue
    const contentId = view.contentIds[slot]
    if (!contentId) return null
    rows.uids.push(/** @type {number} */ (view.uids[slot]))
    rows.sizes.push(/** @type {number} */ (view.sizes[slot]))
    rows.contentIds.push(contentId)
  }
  return rows
}

/** Of `messages`, joined as joined-numbers.js reads them. */
const COLUMNS = 'group_concat(m.id & 4294967295), group_concat(m.size), group_concat(m.content_id)'
const DATE_COLUMNS = 'group_concat(m.internal_date), group_concat(m.internal_zone)'

/** Of neighbours, and of those that lie far apart, in the order in which they are asked for. */
const IN_RANGE = 'messages AS m WHERE m.id BETWEEN ? AND ?'
const IN_LIST = 'json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value'

/**
 * @param {Database} db
 * @param {MailboxView} view - learns what is read
 * @param {readonly number[]} slots
 * @param {boolean} withDates
 * @returns {PageRows} of those that are there
 */
function readRows(db, view, slots, withDates) {
  const rowId = (/** @type {number | undefined} */ slot) =>
    messageRowId(view.mailboxId, view.uids[slot ?? 0] ?? 0)
  const isRange = areClose(view, slots)
  const select = prepared(
    db,
    `SELECT ${withDates ? `${COLUMNS}, ${DATE_COLUMNS}` : COLUMNS} FROM ${isRange ? IN_RANGE : IN_LIST}`,
    'array'
  )
  const texts = /** @type {(string | null)[]} */ (
    isRange
      ? select.get(rowId(slots[0]), rowId(slots.at(-1)))
      : select.get(JSON.stringify(slots.map(rowId)))
  )
  const [uids = [], sizes = [], contentIds = [], dates = [], zones = []] = texts.map(numbersIn)
  const rows = { uids, sizes, contentIds, dates, zones }
  rememberContents(view, rows)
  return rows
}
