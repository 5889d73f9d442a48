/**
 * The limits on the memory that one client's commands can take in the receiver.
 */

/**
 * @typedef {object} ReceiverLimits
 * @property {number} maxLineBytes - bytes of a command's lines together, without line ends and literals; the lines after a
 *   message count anew
 * @property {number} [maxAppendLineBytes] - bytes of the lines of a command with messages, all together. Default: 16 times
 *   maxLineBytes
 * @property {number} maxLiteralBytes - bytes of one buffered literal
 * @property {number} maxCommandBytes - bytes of a command's lines and buffered literals together
 * @property {number} [maxTokens] - of a command: words, strings and lists. Default: as many as its lines have room for
 * @property {number} maxNesting - levels of parentheses
 * @property {number} maxMessageBytes - bytes of a message literal
 * @property {number} [maxSkipBytes] - a refused non-synchronising literal up to this size is read and dropped; a larger
 *   one ends the connection. Default: four times the larger of maxMessageBytes and maxLiteralBytes
 */

/**
 * @param {ReceiverLimits} limits
 * @returns {Required<ReceiverLimits>}
 */
export function withDefaults(limits) {
  const maxSkipBytes =
    limits.maxSkipBytes ?? 4 * Math.max(limits.maxMessageBytes, limits.maxLiteralBytes)
  const maxAppendLineBytes = limits.maxAppendLineBytes ?? 16 * limits.maxLineBytes
  return { maxTokens: Infinity, ...limits, maxAppendLineBytes, maxSkipBytes }
}
