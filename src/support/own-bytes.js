/**
 * Small buffers that are kept for long. What `Buffer.from` and `Buffer.concat` make is a piece of a pool of 64 KiB, and all of
 * that stays in memory as long as one of its pieces does.
 */

/**
 * @param {...Uint8Array} pieces
 * @returns {Buffer} the pieces joined, in memory of its own
 */
export function ownBytes(...pieces) {
  const own = Buffer.alloc(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    own.set(piece, at)
    at += piece.length
  }
  return own
}
