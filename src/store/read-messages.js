/**
 * What FETCH and SEARCH read of messages: the narrow row, and from `message_meta` only the columns that are asked for.
 */
import { isMailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { CODEC_RAW } from './chunk-codec.js'
import { messageRowId, uidOfRow } from './message-id.js'
import { decodeHeader, isStale, rebuildMeta, writeMeta } from './meta-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {Pick<import('./account-database.js').AccountDatabase, 'readSettled' | 'write' | 'isReadOnly'>} Source
 * @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate
 *
 * @typedef {object} MessageNeeds
 * @property {boolean} [row] - the narrow row, which always comes along
 * @property {boolean} [envelope]
 * @property {boolean} [body]
 * @property {boolean} [bodyStructure]
 * @property {boolean} [header]
 * @property {boolean} [partTree]
 * @property {boolean} [search] - messageId, inReplyTo, references, baseSubject, sentDate
 *
 * @typedef {object} MessageRecord
 * @property {number} uid
 * @property {number} modSeq
 * @property {number} flags
 * @property {number} keywords
 * @property {number} size - RFC822.SIZE, bytes
 * @property {ZonedDate} internalDate
 * @property {number} savedAtMs
 * @property {number} contentId
 * @property {Buffer} [envelope] - wire bytes
 * @property {Buffer} [body] - BODY, wire bytes
 * @property {Buffer} [bodyStructure] - wire bytes
 * @property {Buffer | null} [header] - top header block with its empty line; null when it is too large to be kept
 *   beside the content: read it from there by the part tree's offsets
 * @property {Buffer} [partTree] - of part-tree.js
 * @property {string | null} [messageId]
 * @property {string | null} [inReplyTo]
 * @property {string[]} [references]
 * @property {string} [baseSubject]
 * @property {ZonedDate | null} [sentDate] - of the Date header
 *
 * @typedef {object} Row - of the statement below; the columns of message_meta as far as they are asked for
 * @property {number} id
 * @property {number} modSeq
 * @property {number} flags
 * @property {number} keywords
 * @property {number} internalDate
 * @property {number} internalZone
 * @property {number} savedAt
 * @property {number} size
 * @property {number} contentId
 * @property {number | null} [builderVersion]
 * @property {Buffer} [envelope]
 * @property {Buffer} [body]
 * @property {Buffer} [bodyStructure]
 * @property {Buffer} [partTree]
 * @property {number | null} [headerCodec]
 * @property {Buffer | null} [header]
 * @property {string | null} [messageId]
 * @property {string | null} [inReplyTo]
 * @property {string} [referenceList]
 * @property {string} [baseSubject]
 * @property {number | null} [sentAt]
 * @property {number | null} [sentZone]
 */

/** Messages in one call: bounds what is in memory and how long the event loop is held. */
export const MAX_MESSAGES_PER_READ = 500

const ROW_COLUMNS = `m.id, m.modseq AS modSeq, m.flags, m.keywords, m.internal_date AS internalDate,
  m.internal_zone AS internalZone, m.saved_at AS savedAt, m.size, m.content_id AS contentId`

/** @type {ReadonlyArray<readonly [keyof MessageNeeds, string]>} */
const META_COLUMNS = [
  ['envelope', 'd.envelope'],
  ['body', 'd.body'],
  ['bodyStructure', 'd.body_structure AS bodyStructure'],
  ['partTree', 'd.part_tree AS partTree'],
  ['header', 'd.header_codec AS headerCodec, d.header'],
  [
    'search',
    `d.message_id AS messageId, d.in_reply_to AS inReplyTo, d.reference_list AS referenceList,
     d.base_subject AS baseSubject, d.sent_at AS sentAt, d.sent_zone AS sentZone`
  ]
]

/** One text for each set of needs: at most 64 statements. */
const selects = new Map()

/**
 * @param {MessageNeeds} needs
 * @returns {{ sql: string, needsMeta: boolean }} without the WHERE clause
 */
function selectFor(needs) {
  const wanted = META_COLUMNS.filter(([need]) => needs[need])
  const key = wanted.map(([need]) => need).join()
  let select = selects.get(key)
  if (!select) {
    const columns = wanted.map(([, column]) => column)
    const needsMeta = columns.length > 0
    const join = needsMeta ? ' LEFT JOIN message_meta d ON d.content_id = m.content_id' : ''
    if (needsMeta) columns.push('d.builder_version AS builderVersion')
    select = {
      sql: `SELECT ${[ROW_COLUMNS, ...columns].join(', ')} FROM messages m${join}`,
      needsMeta
    }
    selects.set(key, select)
  }
  return select
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {readonly number[]} uids - ascending
 * @param {string} sql
 * @returns {Row[]} by UID, those that are there
 */
function readRows(db, mailboxId, uids, sql) {
  const first = uids[0] ?? 0
  const last = uids[uids.length - 1] ?? 0
  if (last - first < uids.length * 2) {
    const wanted = new Set(uids)
    const range = prepared(db, `${sql} WHERE m.id BETWEEN ? AND ? ORDER BY m.id`)
    const rows = /** @type {Row[]} */ (
      range.all(messageRowId(mailboxId, first), messageRowId(mailboxId, last))
    )
    return rows.length === uids.length ? rows : rows.filter(({ id }) => wanted.has(uidOfRow(id)))
  }
  const single = prepared(db, `${sql} WHERE m.id = ?`)
  const rows = []
  for (const uid of uids) {
    const row = /** @type {Row | undefined} */ (single.get(messageRowId(mailboxId, uid)))
    if (row) rows.push(row)
  }
  return rows
}

/**
 * @param {number | null | undefined} epochSeconds
 * @param {number | null | undefined} zoneMinutes
 * @returns {ZonedDate | null}
 */
const zonedDate = (epochSeconds, zoneMinutes) =>
  typeof epochSeconds === 'number' ? { epochSeconds, zoneMinutes: zoneMinutes ?? 0 } : null

/**
 * @param {Row} row
 * @param {MessageNeeds} needs
 * @returns {MessageRecord}
 */
function toRecord(row, needs) {
  /** @type {MessageRecord} */
  const record = {
    uid: uidOfRow(row.id),
    modSeq: row.modSeq,
    flags: row.flags,
    keywords: row.keywords,
    size: row.size,
    internalDate: { epochSeconds: row.internalDate, zoneMinutes: row.internalZone },
    savedAtMs: row.savedAt,
    contentId: row.contentId
  }
  if (needs.envelope && row.envelope) record.envelope = row.envelope
  if (needs.body && row.body) record.body = row.body
  if (needs.bodyStructure && row.bodyStructure) record.bodyStructure = row.bodyStructure
  if (needs.partTree && row.partTree) record.partTree = row.partTree
  if (needs.header)
    record.header = decodeHeader({
      headerCodec: row.headerCodec ?? null,
      header: row.header ?? null
    })
  if (needs.search) {
    record.messageId = row.messageId ?? null
    record.inReplyTo = row.inReplyTo ?? null
    record.references = JSON.parse(row.referenceList ?? '[]')
    record.baseSubject = row.baseSubject ?? ''
    record.sentDate = zonedDate(row.sentAt, row.sentZone)
  }
  return record
}

/**
 * @param {Source} database
 * @param {number} mailboxId
 * @param {readonly number[]} uids - ascending
 * @param {MessageNeeds} needs
 * @returns {Promise<MessageRecord[]>} by UID; those that are gone are left out
 */
export async function readMessageRecords(database, mailboxId, uids, needs) {
  if (uids.length > MAX_MESSAGES_PER_READ)
    throw new RangeError(`readMessages takes up to ${MAX_MESSAGES_PER_READ} messages`)
  const { sql, needsMeta } = selectFor(needs)
  const rows = await database.readSettled((db) => readRows(db, mailboxId, uids, sql))
  const records = []
  for (const row of rows) {
    const isFresh =
      !needsMeta || !isStale(row.builderVersion ?? null) || (await renew(database, row))
    if (isFresh) records.push(toRecord(row, needs))
  }
  return records
}

/**
 * Makes the columns of message_meta anew, in the row and in the file.
 *
 * @param {Source} database
 * @param {Row} row - changed in place
 * @returns {Promise<boolean>} false when the message has gone meanwhile
 */
async function renew(database, row) {
  let meta
  try {
    meta = await rebuildMeta((work) => database.readSettled(work), row.contentId)
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE')) return false
    throw error
  }
  const { envelope, body, bodyStructure, partTree, header, messageId, inReplyTo, baseSubject } =
    meta
  Object.assign(row, {
    envelope,
    body,
    bodyStructure,
    partTree,
    headerCodec: header && CODEC_RAW,
    header,
    messageId,
    inReplyTo,
    baseSubject,
    referenceList: JSON.stringify(meta.references),
    sentAt: meta.sentDate?.epochSeconds ?? null,
    sentZone: meta.sentDate?.zoneMinutes ?? null
  })
  // Nobody is told anything by the write, and it can be made again: no need to wait for the disk.
  if (!database.isReadOnly)
    await database.write((db) => writeMeta(db, row.contentId, meta), undefined, { isLazy: true })
  return true
}
