/**
 * Rows of `message_meta`: what the MIME code makes of a content once, at arrival. A row that an older version of that
 * code made, or one that is missing, is made again when it is read.
 */
import { BUILDER_VERSION, buildMessageMeta } from '../mime/message-meta.js'
import { MessageParser } from '../mime/parse-message.js'
import { prepared } from '../database/statement.js'
import { decodeChunk, encodeChunk } from './chunk-codec.js'
import { readChunk, requireContent } from './content-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 */

/** Decompressed, no header block is larger: the MIME code keeps none beyond. */
const MAX_HEADER_BYTES = 1024 * 1024

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {MessageMeta} meta
 */
export function writeMeta(db, contentId, meta) {
  const header = meta.header && encodeChunk(meta.header)
  prepared(
    db,
    `INSERT OR REPLACE INTO message_meta (content_id, builder_version, sent_at, sent_zone, base_subject,
       message_id, in_reply_to, reference_list, envelope, body, body_structure, part_tree, header_codec, header)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
  ).run(
    contentId,
    meta.builderVersion,
    meta.sentDate?.epochSeconds ?? null,
    meta.sentDate?.zoneMinutes ?? null,
    meta.baseSubject,
    meta.messageId,
    meta.inReplyTo,
    JSON.stringify(meta.references),
    meta.envelope,
    meta.body,
    meta.bodyStructure,
    meta.partTree,
    header?.codec ?? null,
    header?.data ?? null
  )
}

/**
 * @param {{ headerCodec: number | null, header: Buffer | null }} row
 * @returns {Buffer | null} the top header block with its empty line; null when it is too large to be kept twice
 */
export function decodeHeader({ headerCodec, header }) {
  return header === null || headerCodec === null
    ? null
    : decodeChunk(headerCodec, header, { maxBytes: MAX_HEADER_BYTES })
}

/**
 * @param {number | null} builderVersion - of a row; null if there is none
 * @returns {boolean} whether the row must be made again
 */
export const isStale = (builderVersion) =>
  builderVersion === null || builderVersion < BUILDER_VERSION

/**
 * Parses a stored content anew, chunk by chunk.
 *
 * @param {(work: (db: Database) => void) => Promise<void>} read - runs one read
 * @param {number} contentId
 * @returns {Promise<MessageMeta>}
 */
export async function rebuildMeta(read, contentId) {
  const parser = new MessageParser()
  let sequence = 0
  let isMore = true
  while (isMore) {
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
