/**
 * Copies one content from a damaged file, if all of it can be read and is what its hash says.
 */
import { createHash } from 'node:crypto'
import { buildMessageMeta } from '../../mime/message-meta.js'
import { MessageParser } from '../../mime/parse-message.js'
import { prepared } from '../../database/statement.js'
import {
  CHUNK_BYTES,
  CODEC_SHARED,
  LONG_CHUNK_SIZES,
  decodeChunk,
  encodeChunk
} from '../chunk-codec.js'
import { chunkRowId } from '../row-ids.js'
import { readPartRange, unpackShared } from '../shared-parts/read-part.js'
import { writeMeta } from '../meta-rows.js'
import { UNREADABLE, tryRead } from './readable-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./leaf-pages.js').Chunk} Chunk
 *
 * @typedef {Chunk & { raw: Buffer }} WholeChunk
 *
 * @typedef {object} CopiedContent
 * @property {number} size - bytes
 * @property {{ epochSeconds: number, zoneMinutes: number } | null} sentDate - of its Date header
 */

/**
 * Runs inside a transaction of the new file, and leaves nothing there of what it gives up.
 *
 * @param {Database} from - the damaged file
 * @param {Database} to
 * @param {number} contentId - the same in both
 * @param {object} more
 * @param {number | null} more.expectedBytes - as a message's row says; null where that is lost
 * @param {() => import('./leaf-pages.js').LeafPages} more.leafPages - of the damaged file
 * @returns {CopiedContent | null} null where it cannot be read whole
 */
export function copyContent(from, to, contentId, { expectedBytes, leafPages }) {
  const known = tryRead(() => /** @type {any} */ (readContent(from, contentId)))
  const row = known === UNREADABLE ? (leafPages().content(contentId) ?? null) : known
  // Gone on purpose, or never complete.
  if (row === undefined || row?.hash === null) return null
  const size = row?.size ?? expectedBytes
  if (size === null) return null
  // Where the row is lost, the chunk size is the one by which each chunk gives as many bytes as it should.
  const guesses = size <= CHUNK_BYTES ? [CHUNK_BYTES] : LONG_CHUNK_SIZES
  const chunkSizes = row ? [row.chunk_size] : guesses
  for (const chunkSize of chunkSizes) {
    const hash = createHash('sha256')
    const parser = new MessageParser()
    const shape = { contentId, size, chunkSize }
    const bytes = copyChunks({ from, to, leafPages }, shape, (raw) => {
      hash.update(raw)
      parser.push(raw)
    })
    const digest = hash.digest()
    // Where the row with the hash is lost, the length must do, together with the cipher's authentication of each page.
    if (bytes === size && (row === null || digest.equals(row.hash))) {
      prepared(
        to,
        'INSERT INTO contents (id, hash, size, chunk_size, staged_at) VALUES (?, ?, ?, ?, NULL)'
      ).run(contentId, digest, size, chunkSize)
      const meta = buildMessageMeta(parser.end())
      writeMeta(to, contentId, meta)
      return { size, sentDate: meta.sentDate ?? null }
    }
    removeChunks(to, contentId)
  }
  return null
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @returns {unknown}
 */
const readContent = (db, contentId) =>
  prepared(db, 'SELECT hash, size, chunk_size FROM contents WHERE id = ?').get(contentId)

/**
 * @param {{ from: Database, to: Database, leafPages: () => import('./leaf-pages.js').LeafPages }} files
 * @param {{ contentId: number, size: number, chunkSize: number }} content
 * @param {(raw: Buffer) => void} onChunk
 * @returns {number} bytes that could be read, up to the first that could not
 */
function copyChunks({ from, to, leafPages }, { contentId, size, chunkSize }, onChunk) {
  const insert = prepared(to, 'INSERT INTO content_chunks (id, codec, data) VALUES (?, ?, ?)')
  let bytes = 0
  for (let sequence = 0; sequence * chunkSize < size; sequence++) {
    const id = chunkRowId(contentId, sequence)
    const expectedBytes = Math.min(chunkSize, size - sequence * chunkSize)
    const chunk = findChunk({ from, leafPages }, id, expectedBytes)
    if (chunk === null) return bytes
    insert.run(id, chunk.codec, chunk.data)
    onChunk(chunk.raw)
    bytes += chunk.raw.length
  }
  return bytes
}

/**
 * @param {{ from: Database, leafPages: () => import('./leaf-pages.js').LeafPages }} file
 * @param {number} id - content_chunks.id
 * @param {number} expectedBytes
 * @returns {WholeChunk | null} null where there is none that gives as many bytes as it should
 */
function findChunk({ from, leafPages }, id, expectedBytes) {
  const read = prepared(from, 'SELECT codec, data FROM content_chunks WHERE id = ?')
  const found = tryRead(() => /** @type {Chunk | undefined} */ (read.get(id)))
  const candidates = found === UNREADABLE ? leafPages().chunks(id) : found ? [found] : []
  for (const { codec, data } of candidates) {
    const whole =
      codec === CODEC_SHARED
        ? unshare({ from, leafPages }, data, expectedBytes)
        : tryRead(() => ({ codec, data, raw: decodeChunk(codec, data, expectedBytes) }))
    if (whole !== UNREADABLE && whole.raw.length === expectedBytes) return whole
  }
  return null
}

/**
 * Makes a chunk whole: in the new file each message has its own copy of what was shared, until the job that indexes finds it.
 *
 * @param {{ from: Database, leafPages: () => import('./leaf-pages.js').LeafPages }} file
 * @param {Buffer} data - of a chunk of CODEC_SHARED
 * @param {number} expectedBytes
 * @returns {WholeChunk | typeof UNREADABLE}
 */
function unshare(file, data, expectedBytes) {
  return tryRead(() => {
    const raw = unpackShared(data, expectedBytes, (part, range) =>
      readPartRange(
        part,
        range,
        (sequence, bytes) => findChunk(file, chunkRowId(part.partId, sequence), bytes)?.raw ?? null
      )
    )
    return { ...encodeChunk(raw), raw }
  })
}

/**
 * @param {Database} db
 * @param {number} contentId
 */
function removeChunks(db, contentId) {
  prepared(db, 'DELETE FROM content_chunks WHERE id >= ? AND id < ?').run(
    chunkRowId(contentId, 0),
    chunkRowId(contentId + 1, 0)
  )
}
