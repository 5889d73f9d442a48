/**
 * Joins small pieces of a message to larger ones that are worth the work on each. smtp-server's parser gives a piece for each
 * line that begins with a dot, of which a message may have millions, and each piece is sealed for every recipient.
 */

/** At most so many bytes are gathered into one piece: as many as most pieces from the network have. */
const GATHERED_BYTES = 16_384

/** A piece of so many bytes or more is passed on as it is. */
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
