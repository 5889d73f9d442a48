/**
 * Passes a message on as long as its sender keeps pace: one that lets a byte through now and then is never silent, and would
 * hold the open files of its message, for which others wait, without end.
 */

/** A sender that is slower on average than so many bytes a second counts as stalled. */
const LEAST_BYTES_PER_S = 500

/**
 * @param {AsyncIterable<Buffer>} message
 * @param {object} options
 * @param {number} options.patienceMs - how far the sender may fall behind that pace
 * @param {() => void} options.onStalled - called once, when the sender has fallen further behind; makes `message` fail
 * @returns {AsyncGenerator<Buffer, void, void>} the same pieces; time counts only while the next piece is waited for
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
