import { openEncryptedDatabase } from '../../src/database/open.js'
import { CHUNK_BYTES, decodeChunk, encodeChunk } from '../../src/store/chunk-codec.js'

/**
 * Stores the long contents of a mailbox as older versions did: in chunks of 128 KiB.
 *
 * @param {{ folder: string, key: Uint8Array }} account - whose store may be open, and has not read them yet
 * @returns {number} how many there were
 */
export function chunkAsBefore({ folder, key }) {
  const { db } = openEncryptedDatabase({
    path: `${folder}/mail.db`,
    key,
    cipher: 'chacha20',
    // The index may just be written.
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
      const { codec, data } = encodeChunk(raw)
      insert.run(id * 65536 + sequence, codec, data)
    }
    db.exec(`UPDATE contents SET chunk_size = ${CHUNK_BYTES} WHERE id = ${id}`)
  }
  db.close()
  return contents.length
}
