/**
 * How busy the event loop has been: work that nobody waits for lets those go first who wait. Where two processors have to
 * do for everything, a thread is in their way as well, even with the lowest priority: it keeps its processor for some
 * milliseconds.
 */

/** From this part of the time on, the loop counts as busy: with some clients at work, not with a few that look for mail. */
const BUSY = 0.3

/** Of the time since `begin`, or since it was made. */
export class LoopLoad {
  #since = performance.eventLoopUtilization()

  /** Counts from now on. */
  begin() {
    this.#since = performance.eventLoopUtilization()
  }

  /** @returns {boolean} whether the loop has been busy in that time */
  get isBusy() {
    return performance.eventLoopUtilization(this.#since).utilization >= BUSY
  }
}
