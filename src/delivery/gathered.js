/**
 * Pieces of a message in a size that is worth the work on each. The reader of SMTP gives a piece for each line that begins
 * with a dot, of which a message may have millions, and each piece is sealed for every recipient.
 */

/** As large as most pieces are that come from the network. */
const GATHERED_BYTES = 16_384

/** From here on a piece is passed on as it is. */
const LARGE_BYTES = 4_096

/**
 * @param {AsyncIterable<Buffer>} pieces - of any size
 * @returns {AsyncGenerator<Buffer, void, void>} the same bytes: small pieces together, in memory of their own
 */
export async function* gathered(pieces) {
  let buffer = Buffer.alloc(0)
  let length = 0
  for await (const piece of pieces) {
    const fits = length + piece.length <= GATHERED_BYTES
    if (length > 0 && (piece.length >= LARGE_BYTES || !fits)) {
      yield buffer.subarray(0, length)
      length = 0
    }
    if (piece.length >= LARGE_BYTES) yield piece
    else {
      if (length === 0) buffer = Buffer.allocUnsafeSlow(GATHERED_BYTES)
      length += piece.copy(buffer, length)
    }
  }
  if (length > 0) yield buffer.subarray(0, length)
}
