import { zstdCompressSync } from 'node:zlib'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { packBase64 } from '../../src/store/base64-lines.js'
import { CHUNK_BYTES, decodeChunk } from '../../src/store/chunk-codec.js'

/**
 * @param {Buffer} raw
 * @returns {{ codec: number, data: Buffer }} as before there was a dictionary
 */
export function encodeAsBefore(raw) {
  const decoded = packBase64(raw)
  if (decoded === null) return { codec: 1, data: zstdCompressSync(raw) }
  const length = Buffer.alloc(4)
  length.writeUInt32LE(decoded.length)
  return { codec: 3, data: Buffer.concat([length, zstdCompressSync(decoded)]) }
}

/**
 * Packs all data that was packed with the dictionary anew without it.
 *
 * @param {import('better-sqlite3-multiple-ciphers').Database} db - of an account
 */
export function packAsBefore(db) {
  const rows = /** @type {{ id: number, codec: number, data: Buffer, size: number }[]} */ (
    db
      .prepare(
        `SELECT c.id, c.codec, c.data, min(s.chunk_size, s.size - c.id % 65536 * s.chunk_size) AS size
        FROM content_chunks c JOIN contents s ON s.id = c.id / 65536 WHERE c.codec IN (4, 5)`
      )
      .all()
  )
  const update = db.prepare('UPDATE content_chunks SET codec = ?, data = ? WHERE id = ?')
  for (const { id, codec, data, size } of rows) {
    const before = encodeAsBefore(decodeChunk(codec, data, size))
    update.run(before.codec, before.data, id)
  }
}

/**
 * Stores the long contents of a mailbox as older versions did: in chunks of 128 KiB.
 *
 * @param {{ folder: string, key: Uint8Array }} account - whose store may be open, and has not read them yet
 * @returns {number} how many long contents there were
 */
export function chunkAsBefore({ folder, key }) {
  const { db } = openEncryptedDatabase({
    path: `${folder}/mail.db`,
    key,
    cipher: 'chacha20',
    // Waits for the lock: the index may just be written.
    isBlocking: true
  })
  const contents = /** @type {{ id: number, size: number, chunk_size: number }[]} */ (
    db.prepare(`SELECT id, size, chunk_size FROM contents WHERE size > ${CHUNK_BYTES}`).all()
  )
  for (const { id, size, chunk_size: chunkSize } of contents) {
    const within = `id / 65536 = ${id}`
    const rows = /** @type {{ codec: number, data: Buffer }[]} */ (
      db.prepare(`SELECT codec, data FROM content_chunks WHERE ${within} ORDER BY id`).all()
    )
    const bytes = Buffer.concat(
      rows.map(({ codec, data }, sequence) =>
        decodeChunk(codec, data, Math.min(chunkSize, size - sequence * chunkSize))
      )
    )
    db.exec(`DELETE FROM content_chunks WHERE ${within}`)
    const insert = db.prepare('INSERT INTO content_chunks (id, codec, data) VALUES (?, ?, ?)')
    for (let sequence = 0; sequence * CHUNK_BYTES < size; sequence++) {
      const raw = bytes.subarray(sequence * CHUNK_BYTES, (sequence + 1) * CHUNK_BYTES)
      const { codec, data } = encodeAsBefore(raw)
      insert.run(id * 65536 + sequence, codec, data)
    }
    db.exec(`UPDATE contents SET chunk_size = ${CHUNK_BYTES} WHERE id = ${id}`)
  }
  db.close()
  return contents.length
}
