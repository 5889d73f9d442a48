/**
 * Passes a message on as long as it keeps coming: a sender that lets a byte through now and then is never silent, and would
 * hold the files that are open for its message, which others wait for, without end.
 */

/** A sender that is slower than this on average counts as stalled, bytes a second. */
const LEAST_BYTES_PER_S = 500

/**
 * @param {AsyncIterable<Buffer>} message
 * @param {object} options
 * @param {number} options.patienceMs - how far it may fall behind that pace
 * @param {() => void} options.onStalled - called once where it has; makes `message` fail
 * @returns {AsyncGenerator<Buffer, void, void>} the same pieces; time counts only while one is waited for
 */
export async function* paced(message, { patienceMs, onStalled }) {
  let leftMs = patienceMs
  let waitingSinceMs = performance.now()
  let isWaiting = true
  const look = () => {
    const restMs = isWaiting ? leftMs - (performance.now() - waitingSinceMs) : leftMs
    // Node's timers may be early by a part of a millisecond.
    if (restMs >= 1) timer = setTimeout(look, restMs)
    else onStalled()
  }
  let timer = setTimeout(look, patienceMs)
  try {
    for await (const piece of message) {
      isWaiting = false
      const earnedMs = (piece.length / LEAST_BYTES_PER_S) * 1000
      leftMs = Math.min(patienceMs, leftMs - (performance.now() - waitingSinceMs) + earnedMs)
      yield piece
      waitingSinceMs = performance.now()
      isWaiting = true
    }
  } finally {
    clearTimeout(timer)
  }
}
