/**
 * What FETCH and SEARCH read of messages: the narrow row, and of what was computed from the content only what is asked
 * for.
 */
import { isMailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { Slicer } from '../support/slicer.js'
import { BUILDER_VERSION } from '../mime/message-meta.js'
import { decodePartTree } from '../mime/part-tree.js'
import { BlockReader } from './block-reader.js'
import { CHUNK_BYTES } from './chunk-codec.js'
import { unpackIfSound } from './content-rows.js'
import { messageRowId, uidOfRow } from './row-ids.js'
import { isStale, rebuildMeta } from './meta-rows.js'
import { tryWrite } from './try-write.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {Pick<import('./account-database.js').AccountDatabase, 'readSettled'>} Source
 * @typedef {import('./late-meta.js').LateMeta} LateMeta
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 * @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate
 *
 * @typedef {object} MessageNeeds
 * @property {boolean} [row] - the narrow row, which always comes along
 * @property {boolean} [envelope]
 * @property {boolean} [body]
 * @property {boolean} [bodyStructure]
 * @property {boolean} [header]
 * @property {boolean} [content]
 * @property {boolean} [partTree]
 * @property {boolean} [order] - baseSubject, sentDate
 * @property {boolean} [threadRoot]
 * @property {boolean} [search] - messageId, inReplyTo, references, baseSubject, sentDate; not together with `order`
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
 * @property {Buffer | null} [header] - top header block with its empty line; null when it is longer than one chunk of
 *   the content: read it from there by the part tree's offsets
 * @property {Buffer | null} [content] - the whole message; null when it is longer than one chunk, or damaged
 * @property {Buffer} [partTree] - of part-tree.js; also where the header is null
 * @property {string | null} [threadRoot] - the oldest message that it refers to; itself where there is none; null: it says neither
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
 * @property {number | null} [metaVersion]
 * @property {number | null} [envelopeVersion]
 * @property {number | null} [structureVersion]
 * @property {Buffer} [envelope]
 * @property {Buffer} [body]
 * @property {Buffer} [bodyStructure]
 * @property {Buffer} [partTree]
 * @property {number | null} [codec] - of the only chunk
 * @property {Buffer | null} [data]
 * @property {Buffer | null} [content]
 * @property {string | null} [threadRoot]
 * @property {string | null} [messageId]
 * @property {string | null} [inReplyTo]
 * @property {string} [referenceList]
 * @property {string} [baseSubject]
 * @property {number | null} [sentAt]
 * @property {number | null} [sentZone]
 */

/** Messages in one call: bounds what is in memory and how long the event loop is held. */
const MAX_MESSAGES_PER_READ = 500

const ROW_COLUMNS = `m.id, m.modseq AS modSeq, m.flags, m.keywords, m.internal_date AS internalDate,
  m.internal_zone AS internalZone, m.saved_at AS savedAt, m.size, m.content_id AS contentId`

const ORDER_COLUMNS = 'd.base_subject AS baseSubject, d.sent_at AS sentAt, d.sent_zone AS sentZone'

const SEARCH_COLUMNS = `d.message_id AS messageId, d.in_reply_to AS inReplyTo, d.reference_list AS referenceList,
  ${ORDER_COLUMNS}`

/** References begin with the oldest (RFC 5322 §3.6.4). */
const THREAD_ROOT =
  "coalesce(json_extract(d.reference_list, '$[0]'), d.in_reply_to, d.message_id) AS threadRoot"

/**
 * The tables of what was computed: columns by need, the table with its alias, and its version.
 *
 * @type {ReadonlyArray<{ columns: ReadonlyArray<readonly [keyof MessageNeeds, string]>, table: string,
 *   version: string }>}
 */
const TABLES = [
  {
    columns: [
      ['body', 'd.body'],
      ['threadRoot', THREAD_ROOT],
      ['order', ORDER_COLUMNS],
      ['search', SEARCH_COLUMNS]
    ],
    table: 'message_meta d',
    version: 'd.builder_version AS metaVersion'
  },
  {
    columns: [['envelope', 'e.envelope']],
    table: 'message_envelopes e',
    version: 'e.builder_version AS envelopeVersion'
  },
  {
    columns: [
      ['bodyStructure', 's.body_structure AS bodyStructure'],
      ['partTree', 's.part_tree AS partTree']
    ],
    table: 'message_structures s',
    version: 's.builder_version AS structureVersion'
  }
]

/** @type {ReadonlySet<Row>} */
const NONE = new Set()

/** One text for each set of needs: at most 256 statements. */
const selects = new Map()

/**
 * @param {MessageNeeds} needs
 * @returns {string} SQL without the WHERE clause
 */
function selectFor(needs) {
  // The header is cut from the content at the tree's offset.
  const wants = (/** @type {keyof MessageNeeds} */ need) =>
    needs[need] === true || (need === 'partTree' && needs.header === true)
  const needsContent = needs.content === true || needs.header === true
  const key = ['body', 'threadRoot', 'order', 'search', 'envelope', 'bodyStructure', 'partTree']
    .filter((need) => wants(/** @type {keyof MessageNeeds} */ (need)))
    .concat(needsContent ? ['content'] : [])
    .join()
  let select = selects.get(key)
  if (select === undefined) {
    const columns = [ROW_COLUMNS]
    let from = 'messages m'
    for (const { columns: known, table, version } of TABLES) {
      const wanted = known.filter(([need]) => wants(need)).map(([, column]) => column)
      if (wanted.length === 0) continue
      columns.push(...wanted, version)
      from += ` LEFT JOIN ${table} ON ${table.slice(-1)}.content_id = m.content_id`
    }
    if (needsContent) {
      // Of a longer content nothing is read here. Chunk 0 of a content: see row-ids.js.
      columns.push('c.codec, c.data')
      from += ` LEFT JOIN content_chunks c ON c.id = m.content_id * 65536 AND m.size <= ${CHUNK_BYTES}`
    }
    select = `SELECT ${columns.join(', ')} FROM ${from}`
    selects.set(key, select)
  }
  return select
}

/**
 * @param {Row} row
 * @returns {boolean} whether something that is asked for must be made again
 */
const needsRenewal = ({ metaVersion, envelopeVersion, structureVersion }) =>
  (metaVersion !== undefined && isStale(metaVersion)) ||
  (envelopeVersion !== undefined && isStale(envelopeVersion)) ||
  (structureVersion !== undefined && isStale(structureVersion))

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
    // As many as were asked for may still be others: some of these have gone, and some stand between them.
    const isRun = uids.length === last - first + 1
    return isRun ? rows : rows.filter(({ id }) => wanted.has(uidOfRow(id)))
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
 * Adds what has been packed into blocks since it was a row.
 *
 * @param {Database} db
 * @param {readonly Row[]} rows - changed in place
 */
function addPacked(db, rows) {
  const blocks = new BlockReader(db)
  for (const row of rows) {
    if (row.envelopeVersion !== undefined && isStale(row.envelopeVersion)) {
      const envelope = blocks.entry('envelope', row.contentId)
      if (envelope) Object.assign(row, { envelope, envelopeVersion: BUILDER_VERSION })
    }
    if (row.structureVersion === undefined || !isStale(row.structureVersion)) continue
    const bodyStructure = 'bodyStructure' in row && blocks.entry('bodyStructure', row.contentId)
    const partTree = 'partTree' in row && blocks.entry('partTree', row.contentId)
    if (bodyStructure) row.bodyStructure = bodyStructure
    if (partTree) row.partTree = partTree
    if (bodyStructure !== null && partTree !== null) row.structureVersion = BUILDER_VERSION
  }
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
  if (needs.header) record.header = headerOf(row)
  if (row.partTree && (needs.partTree || record.header === null)) record.partTree = row.partTree
  if (needs.content) record.content = row.content ?? null
  if (needs.threadRoot) record.threadRoot = row.threadRoot ?? null
  if (needs.search) {
    record.messageId = row.messageId ?? null
    record.inReplyTo = row.inReplyTo ?? null
    record.references = JSON.parse(row.referenceList ?? '[]')
  }
  if (needs.order || needs.search) {
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
 * @param {LateMeta | null} [lateMeta] - of the account; without it, as in a search, what is missing is made and not kept: the index does that
 * @returns {Promise<MessageRecord[]>} by UID; those that are gone are left out
 */
export async function readMessageRecords(database, mailboxId, uids, needs, lateMeta = null) {
  if (uids.length > MAX_MESSAGES_PER_READ)
    throw new RangeError(`readMessages takes up to ${MAX_MESSAGES_PER_READ} messages`)
  const sql = selectFor(needs)
  const rows = await database.readSettled((db) => {
    const found = readRows(db, mailboxId, uids, sql)
    addPacked(db, found)
    if (needs.content || needs.header)
      for (const row of found) row.content = unpackIfSound(db, chunkOf(row))
    return found
  })
  const stale = rows.filter(needsRenewal)
  const gone = stale.length > 0 ? await renewAll(database, stale, lateMeta) : NONE
  return rows.filter((row) => !gone.has(row)).map((row) => toRecord(row, needs))
}

/**
 * @param {Row} row
 * @returns {{ codec: number | null, data: Buffer | null, size: number }} its only chunk
 */
const chunkOf = ({ codec, data, size }) => ({ codec: codec ?? null, data: data ?? null, size })

/**
 * @param {Row} row
 * @returns {Buffer | null} the top header block, in memory of its own; null when it is longer than a chunk
 */
function headerOf({ content, partTree }) {
  if (!content || !partTree) return null
  const { headerEnd } = decodePartTree(partTree)
  return headerEnd <= content.length ? Buffer.from(content.subarray(0, headerEnd)) : null
}

/**
 * Adds what was computed from the contents: what is on its way into the file, or made anew.
 *
 * @param {Source} database
 * @param {readonly Row[]} rows - changed in place
 * @param {LateMeta | null} lateMeta - takes what is made; null: it is kept nowhere
 * @returns {Promise<Set<Row>>} those whose message has gone meanwhile
 */
async function renewAll(database, rows, lateMeta) {
  /** @type {Set<Row>} */
  const gone = new Set()
  const slicer = new Slicer()
  for (const row of rows) {
    await slicer.breathe()
    const { contentId } = row
    const known = lateMeta?.find(contentId) ?? null
    const meta = known ?? (await makeUnlessGone(database, contentId))
    if (meta === null) gone.add(row)
    else renew(row, meta)
    if (known !== null || meta === null || lateMeta === null) continue
    await tryWrite(() => lateMeta.keep(contentId, meta))
  }
  return gone
}

/**
 * @param {Source} database
 * @param {number} contentId
 * @returns {Promise<MessageMeta | null>} null when the message has gone
 */
async function makeUnlessGone(database, contentId) {
  try {
    return await rebuildMeta((work) => database.readSettled(work), contentId)
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE')) return null
    throw error
  }
}

/**
 * @param {Row} row - changed in place
 * @param {MessageMeta} meta
 */
function renew(row, meta) {
  const { envelope, body, bodyStructure, partTree, messageId, inReplyTo, baseSubject } = meta
  Object.assign(row, {
    envelope,
    body,
    bodyStructure,
    partTree,
    threadRoot: meta.references[0] ?? inReplyTo ?? messageId,
    messageId,
    inReplyTo,
    baseSubject,
    referenceList: JSON.stringify(meta.references),
    sentAt: meta.sentDate?.epochSeconds ?? null,
    sentZone: meta.sentDate?.zoneMinutes ?? null
  })
}
