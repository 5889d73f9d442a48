/**
 * How long a place of backups that has gone away is waited for: a job of hours shall outlive the restart or the failover of
 * the place's server, and the operator shall hear of a server that stays away the same night.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { steadyClock } from '../../support/clock.js'

/** A process waits at most so many ms, all absences together: a failover takes some minutes. */
const PATIENCE_MS = 10 * 60_000

/** Pauses between two tries, ms: each twice the one before. */
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000

/**
 * @typedef {object} Absence - why there was no answer
 * @property {string} words - for the operator
 * @property {number} pauseMs - that the server asks for; 0: none
 *
 * @typedef {object} PatienceOptions
 * @property {import('../../telemetry/logger.js').Logger} logger
 * @property {boolean} isFirstToo - whether to wait also for a server that has not answered this process yet: true where nobody
 *   sits there who might have misspelt its name
 * @property {import('../../support/clock.js').Clock} [clock] - a steady one
 * @property {(ms: number) => Promise<unknown>} [pause]
 */

/** Of one process; several may wait at once, and their time is counted once. */
export class Patience {
  #logger
  #clock
  #pause
  #hasAnswered
  /** Time that was spent on absences that are over, ms. */
  #spentMs = 0
  /** @type {number | null} when the server was first missed, ms; null while it answers */
  #missedMs = null

  /** @param {PatienceOptions} options */
  constructor({ logger, isFirstToo, clock = steadyClock, pause = sleep }) {
    this.#logger = logger
    this.#clock = clock
    this.#pause = pause
    this.#hasAnswered = isFirstToo
  }

  /**
   * @template T
   * @param {() => Promise<T>} work - that may be done anew after it has failed in the middle
   * @param {(error: unknown) => Absence | null} absenceOf - null for what waiting does not help against
   * @returns {Promise<T>}
   * @throws what it failed with in the end
   */
  async run(work, absenceOf) {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        const result = await work()
        this.#noteAnswer()
        return result
      } catch (error) {
        const absence = absenceOf(error)
        if (absence === null || !this.#hasAnswered) throw error
        const leftMs = this.#noteAbsence(absence)
        if (leftMs <= 0) throw error
        await this.#pause(Math.min(Math.max(pauseMs, absence.pauseMs), leftMs))
      }
    }
  }

  #noteAnswer() {
    this.#hasAnswered = true
    if (this.#missedMs === null) return
    const awayMs = this.#clock.nowMs() - this.#missedMs
    this.#missedMs = null
    this.#spentMs += awayMs
    this.#logger.info({ awayMs: Math.round(awayMs) }, 'the place of the backups answers again')
  }

  /**
   * @param {Absence} absence
   * @returns {number} how much longer the server is waited for, ms
   */
  #noteAbsence({ words }) {
    const nowMs = this.#clock.nowMs()
    const isNews = this.#missedMs === null
    this.#missedMs ??= nowMs
    const leftMs = PATIENCE_MS - this.#spentMs - (nowMs - this.#missedMs)
    if (isNews && leftMs > 0)
      this.#logger.warn(
        { detail: words, patienceMs: Math.round(leftMs) },
        'the place of the backups does not answer, and is asked again'
      )
    return leftMs
  }
}
