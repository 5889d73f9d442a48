/**
 * Chunks as they stand in the file, unpacked: what they share with others is read too.
 */
import { MailError } from '../../errors.js'
import { prepared } from '../../database/statement.js'
import { CODEC_SHARED, decodeChunk } from '../chunk-codec.js'
import { releaseBuffer, takeBuffer } from '../../support/release-buffer.js'
import { chunkRowId } from '../row-ids.js'
import { PART_CHUNK_BYTES, unpackSharedChunk } from './shared-chunk.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./shared-chunk.js').ReadPart} ReadPart
 */

/**
 * @param {Database} db
 * @param {{ codec: number, data: Buffer, size: number }} chunk - `size`: raw bytes that are expected
 * @returns {Buffer} the raw bytes, in memory of their own or that of `data`; of another length where these are stored as they
 *   are
 * @throws {MailError} ACCOUNT_DAMAGED, also where another content that goes at this moment takes the part with it: only a
 *   snapshot is safe from that
 */
export const unpackStored = (db, { codec, data, size }) =>
  codec === CODEC_SHARED ? unpackShared(data, size, partReader(db)) : decodeChunk(codec, data, size)

/**
 * @param {Buffer} data - of a chunk of CODEC_SHARED
 * @param {number} size - raw bytes that are expected
 * @param {ReadPart} readPart
 * @returns {Buffer} for `releaseBuffer`
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function unpackShared(data, size, readPart) {
  const raw = unpackSharedChunk(data, size, readPart)
  if (raw === null)
    throw new MailError('ACCOUNT_DAMAGED', { detail: 'shared chunk does not unpack' })
  return raw
}

/**
 * @param {Database} db
 * @returns {ReadPart}
 */
function partReader(db) {
  const select = prepared(db, 'SELECT codec, data FROM content_chunks WHERE id = ?', 'array')
  return (part, range) =>
    readPartRange(part, range, (sequence, bytes) => {
      const row = /** @type {[number, Buffer] | undefined} */ (
        select.get(chunkRowId(part.partId, sequence))
      )
      if (row === undefined) return null
      const [codec, data] = row
      const raw = decodeChunk(codec, data, bytes)
      if (raw !== data) releaseBuffer(data)
      return raw
    })
}

/**
 * @param {{ partId: number, size: number }} part - `size`: decoded bytes
 * @param {{ start: number, end: number }} range - of these
 * @param {(sequence: number, bytes: number) => Buffer | null} readChunk - `bytes` that are expected; null: there is none
 * @returns {Buffer} for `releaseBuffer`
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function readPartRange({ partId, size }, { start, end }, readChunk) {
  const decoded = takeBuffer(end - start)
  for (let at = start; at < end;) {
    const sequence = Math.floor(at / PART_CHUNK_BYTES)
    const base = sequence * PART_CHUNK_BYTES
    const bytes = Math.min(PART_CHUNK_BYTES, size - base)
    const chunk = readChunk(sequence, bytes)
    if (chunk?.length !== bytes)
      throw new MailError('ACCOUNT_DAMAGED', { detail: `shared part ${partId} lacks bytes` })
    at += chunk.copy(decoded, at - start, at - base, Math.min(bytes, end - base))
    releaseBuffer(chunk)
  }
  return decoded
}
