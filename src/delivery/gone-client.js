/**
 * A delivery whose client has gone: it was told nothing, so it brings the message again. That is its affair and the network's.
 */

/** The socket's errors, and those of the stream of a message that ends before its last line. */
const GONE = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNECTION',
  'ERR_STREAM_PREMATURE_CLOSE'
])

/**
 * @param {unknown} error - of a connection or a message
 * @returns {boolean}
 */
export const hasGone = (error) => GONE.has(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')
