/**
 * Runs the streaming decoders on bytes, or on a page, that are there as a whole.
 */
import { HtmlTextReader } from '../../src/mime/html-text.js'
import { createTransferDecoder } from '../../src/mime/transfer-encoding.js'

/**
 * @param {Buffer} bytes
 * @param {string} encoding
 * @returns {Buffer | null} null for an encoding that is not known
 */
export function decodeTransfer(bytes, encoding) {
  const decoder = createTransferDecoder(encoding)
  return decoder && Buffer.concat([decoder.push(bytes), decoder.end()])
}

/**
 * @param {string} html
 * @returns {string} the text of the page that a reader sees
 */
export function htmlToVisibleText(html) {
  const reader = new HtmlTextReader()
  const first = reader.push(html)
  return first + reader.end()
}
