/**
 * Tells a delivery whose client has gone from one that failed here: the client got no reply, so it brings the message again.
 * That is the client's affair and the network's.
 */

/** Codes of a socket's errors, and of the error of a message's stream that ends before the message's last line. */
const GONE_CODES = new Set([
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
 * @returns {boolean} whether it says that the client has gone
 */
export const hasGone = (error) =>
  GONE_CODES.has(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')
