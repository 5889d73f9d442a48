/**
 * Unpacks zstd (RFC 8878 §3): any number of frames one after another, as `zstd >>`, pzstd and tar with several threads leave
 * them, and skippable frames between. Node's decoder ends silently behind the first frame that ends within a chunk, so the
 * rest of that chunk goes to a new decoder.
 */
import { createZstdDecompress } from 'node:zlib'

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/**
 * @param {AsyncIterable<Buffer>} packed
 * @returns {AsyncGenerator<Buffer>}
 * @throws what the decoder throws at bytes that are no frame, or no whole one
 */
export async function* unpackZstd(packed) {
  const input = packed[Symbol.asyncIterator]()
  let rest = NO_BYTES
  do {
    const decoder = createZstdDecompress()
    const feeding = feed(decoder, rest, input)
    try {
      yield* decoder
    } finally {
      decoder.destroy()
    }
    rest = await feeding
  } while (rest.length > 0)
}

/**
 * Writes into a decoder at the decoder's pace; an error here destroys the decoder, whose consumer is told.
 *
 * @param {import('node:zlib').ZstdDecompress} decoder
 * @param {Buffer} first - written before the input
 * @param {AsyncIterator<Buffer>} input
 * @returns {Promise<Buffer>} what the decoder has left of the last chunk
 */
async function feed(decoder, first, input) {
  let goOn = () => {}
  decoder.on('close', () => goOn())
  try {
    for (let chunk = first; ;) {
      if (chunk.length > 0) {
        const before = decoder.bytesWritten
        await new Promise((resolve) => {
          goOn = () => resolve(undefined)
          decoder.write(chunk, goOn)
        })
        const used = decoder.bytesWritten - before
        if (used < chunk.length || decoder.destroyed) return chunk.subarray(used)
      }
      const { done, value } = await input.next()
      if (done) break
      chunk = value
    }
    decoder.end()
  } catch (error) {
    decoder.destroy(/** @type {Error} */ (error))
  }
  return NO_BYTES
}
