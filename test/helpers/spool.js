/**
 * Mail that waits, put into a spool without LMTP.
 */
import { SpoolWriter } from '../../src/delivery/spool-writer.js'

/**
 * @param {object} options
 * @param {string} options.spoolFolder
 * @param {Buffer} options.publicKey
 * @param {import('../../src/delivery/spool-format.js').SpoolEnvelope} options.envelope
 * @param {AsyncIterable<Buffer> | Iterable<Buffer>} options.message
 * @returns {Promise<{ name: string, bytes: number }>} once the file is durable; a failure leaves no file
 */
export async function writeSpoolFile({ spoolFolder, publicKey, envelope, message }) {
  const writer = await SpoolWriter.open({ spoolFolder, publicKey, envelope })
  try {
    for await (const chunk of message) await writer.write(chunk)
    return await writer.finish()
  } catch (error) {
    await writer.abort()
    throw error
  }
}
