/**
 * Messages with base64 parts, as mail programs write them.
 */
import { createHash } from 'node:crypto'

/**
 * @param {string} seed
 * @param {number} bytes
 * @returns {Buffer} that do not compress, the same for the same seed
 */
export const noise = (seed, bytes) =>
  createHash('shake256', { outputLength: bytes }).update(seed).digest()

/**
 * @param {Buffer} bytes
 * @param {number} [line] - characters
 * @returns {string} lines, without the last one's end
 */
export const base64Text = (bytes, line = 76) =>
  (bytes.toString('base64').match(new RegExp(`.{1,${line}}`, 'g')) ?? []).join('\r\n')

/**
 * @param {string} subject
 * @param {readonly (Buffer | { bytes: Buffer, line?: number, text?: string })[]} parts - attachments; `text` in place of what
 *   they would be written as
 * @returns {Buffer}
 */
export function mailWith(subject, parts) {
  const attachments = parts.map((part) => {
    const {
      bytes,
      line = 76,
      text = base64Text(bytes, line)
    } = Buffer.isBuffer(part) ? { bytes: part } : part
    return (
      `--b\r\nContent-Type: application/octet-stream; name="${subject}.bin"\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${text}\r\n`
    )
  })
  return Buffer.from(
    `From: a@example.org\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n` +
      'Content-Type: multipart/mixed; boundary=b\r\n\r\n' +
      `--b\r\nContent-Type: text/plain\r\n\r\nAbout ${subject}.\r\n${attachments.join('')}--b--\r\n`
  )
}
