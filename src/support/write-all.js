/**
 * Writing that takes no partial write for a whole one: a disk that is nearly full takes a part, and says why at the next.
 *
 * @param {import('node:fs/promises').FileHandle} file
 * @param {Uint8Array} bytes
 * @param {number | null} [position] - in the file; null, the default: appends at its position
 * @throws what the file system throws
 */
export async function writeAll(file, bytes, position = null) {
  for (let at = 0; at < bytes.length;) {
    const place = position === null ? null : position + at
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, place)
    at += bytesWritten
  }
}
