/**
 * Rows of what the MIME code makes of a content once, at arrival: `message_meta`, `message_envelopes`,
 * `message_structures`, `message_fields` and the tables of lines that stand apart from these. A row that an older version of
 * that code made, or one that is missing, is made again when it is read.
 */
import { BUILDER_VERSION, buildMessageMeta } from '../mime/message-meta.js'
import { listFields } from '../mime/header-fields.js'
import { APART_KINDS } from '../mime/listed-fields.js'
import { MessageParser } from '../mime/parse-message.js'
import { prepared } from '../database/statement.js'
import { Slicer } from '../support/slicer.js'
import { hasContent, readChunk, requireContent } from './content-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 */

/**
 * Lines of the header that stand apart: a row of those that a message has.
 *
 * @type {Readonly<Record<import('../mime/listed-fields.js').ApartKind, string>>}
 */
export const APART_TABLES = {
  received: 'message_received',
  signatures: 'message_signatures',
  rest: 'message_rests'
}

const insertInto = (/** @type {string} */ table) =>
  `INSERT OR REPLACE INTO ${table} (content_id, lines) VALUES (?, ?)`

const APART_INSERTS = {
  received: insertInto(APART_TABLES.received),
  signatures: insertInto(APART_TABLES.signatures),
  rest: insertInto(APART_TABLES.rest)
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {MessageMeta} meta
 */
export function writeMeta(db, contentId, meta) {
  const { builderVersion } = meta
  prepared(
    db,
    `INSERT OR REPLACE INTO message_meta (content_id, builder_version, sent_at, sent_zone, base_subject,
       message_id, in_reply_to, reference_list, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  ).run(
    contentId,
    builderVersion,
    meta.sentDate?.epochSeconds ?? null,
    meta.sentDate?.zoneMinutes ?? null,
    meta.baseSubject,
    meta.messageId,
    meta.inReplyTo,
    JSON.stringify(meta.references),
    meta.body
  )
  prepared(
    db,
    'INSERT OR REPLACE INTO message_envelopes (content_id, builder_version, envelope) VALUES (?, ?, ?)'
  ).run(contentId, builderVersion, meta.envelope)
  prepared(
    db,
    `INSERT OR REPLACE INTO message_structures (content_id, builder_version, part_tree, body_structure)
     VALUES (?, ?, ?, ?)`
  ).run(contentId, builderVersion, meta.partTree, meta.bodyStructure)
  const listed = meta.header && listFields(meta.header)
  prepared(
    db,
    'INSERT OR REPLACE INTO message_fields (content_id, builder_version, fields) VALUES (?, ?, ?)'
  ).run(contentId, builderVersion, listed?.fields ?? null)
  for (const kind of APART_KINDS) {
    const lines = listed?.[kind]
    if (lines) prepared(db, APART_INSERTS[kind]).run(contentId, lines)
  }
}

/**
 * The same of several contents, as far as they are still there.
 *
 * @param {Database} db - in a transaction
 * @param {Iterable<readonly [number, MessageMeta]>} metas - by content id
 */
export function writeMetas(db, metas) {
  for (const [contentId, meta] of metas)
    if (hasContent(db, contentId)) writeMeta(db, contentId, meta)
}

/**
 * @param {number | null | undefined} builderVersion - of a row; null if there is none
 * @returns {boolean} whether the row must be made again
 */
export const isStale = (builderVersion) =>
  typeof builderVersion !== 'number' || builderVersion < BUILDER_VERSION

/**
 * Parses a stored content anew, chunk by chunk.
 *
 * @param {(work: (db: Database) => void) => Promise<void>} read - runs one read
 * @param {number} contentId
 * @returns {Promise<MessageMeta>}
 */
export async function rebuildMeta(read, contentId) {
  const parser = new MessageParser()
  const slicer = new Slicer()
  let sequence = 0
  let isMore = true
  while (isMore) {
    await slicer.breathe()
    await read((db) => {
      const content = requireContent(db, contentId)
      const { size, chunkSize } = content
      if (sequence * chunkSize < size) parser.push(readChunk(db, contentId, sequence, content))
      sequence++
      isMore = sequence * chunkSize < size
    })
  }
  return buildMessageMeta(parser.end())
}
