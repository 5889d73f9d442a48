/**
 * Writing that takes no partial write for a whole one.
 *
 * @param {import('node:fs/promises').FileHandle} file - appends at its position
 * @param {Buffer} bytes
 * @throws what the file system throws
 */
export async function writeAll(file, bytes) {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at)
    at += bytesWritten
  }
}
