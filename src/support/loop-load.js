/**
 * How busy the event loop has been: work that nobody waits for lets those go first who wait. Where two processors have to
 * do for everything, a thread is in their way as well, with the lowest priority too: it keeps the one that it runs on for
 * some milliseconds.
 */

/** The part of the time from which on the loop counts as busy: some clients at work, and not a few that look for mail. */
const BUSY = 0.3

/** Of the time since it began to count. */
export class LoopLoad {
  #since = performance.eventLoopUtilization()

  /** Counts from now on. */
  begin() {
    this.#since = performance.eventLoopUtilization()
  }

  /** @returns {boolean} whether the loop has been busy since then */
  get isBusy() {
    return performance.eventLoopUtilization(this.#since).utilization >= BUSY
  }
}
