/**
 * Lines for a client that could take silence for a dead connection: in IDLE (RFC 2177 leaves that to the server), while a
 * command is at work (RFC 9585 §4), and while the client is held back.
 */
import { inProgress } from '../protocol/compile/response-code.js'

/** @import { ResponseCode } from '../protocol/compile/response-code.js' */

/** A command at work says so after so many ms of silence, RFC 9585 §4: 10 to 15 seconds. */
const PROGRESS_MS = 10_000

/**
 * When the client has closed its side, a command at work says so at once, this many times. A client that still reads learns
 * that its command goes on. Where it has gone, its host refuses the first line, and writing the second finds that out (the
 * third, where another worker has the client's socket and passes lines on): then the work can end.
 */
const MAX_PROBES = 3

/** The signs of life of one session. */
export class SignsOfLife {
  #lastOutputMs = 0
  /** Commands that are at work and say nothing until they are done. */
  #working = 0
  #probesLeft = MAX_PROBES

  /** @param {number} nowMs - when something was written to the client */
  noteOutput(nowMs) {
    this.#lastOutputMs = nowMs
  }

  /**
   * @template Result
   * @param {number} nowMs
   * @param {() => Promise<Result>} work - writes nothing to the client
   * @returns {Promise<Result>}
   */
  async whileWorking(nowMs, work) {
    this.#lastOutputMs = nowMs
    this.#working++
    try {
      return await work()
    } finally {
      this.#working--
    }
  }

  /**
   * @param {number} nowMs
   * @param {object} state
   * @param {boolean} state.isIdling
   * @param {boolean} state.isHeldBack - because too much was asked for
   * @param {boolean} state.isHalfClosed - whether the client has closed its side
   * @param {number} state.idleReminderMs
   * @param {string} state.runningTag
   * @returns {{ code: ResponseCode | null, text: string } | null} of an untagged OK that is due
   */
  due(nowMs, { isIdling, isHeldBack, isHalfClosed, idleReminderMs, runningTag }) {
    const silentMs = nowMs - this.#lastOutputMs
    if (isIdling && silentMs >= idleReminderMs) return { code: null, text: 'Still here' }
    const isProbe = isHalfClosed && this.#working > 0 && this.#probesLeft > 0
    if (silentMs < PROGRESS_MS && !isProbe) return null
    if (isProbe) this.#probesLeft--
    if (this.#working > 0) return { code: inProgress(runningTag), text: 'Still at work' }
    if (!isHeldBack) return null
    return { code: null, text: 'Slowed down, too much was asked for within a minute' }
  }
}
