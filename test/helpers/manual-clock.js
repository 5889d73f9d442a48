/**
 * A clock that a test moves.
 */
export class ManualClock {
  /** @param {number} [nowMs] */
  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.ms = nowMs
  }

  /** @returns {number} */
  nowMs() {
    return this.ms
  }

  /** @param {number} ms */
  advance(ms) {
    this.ms += ms
  }
}
