/**
 * The list of backups for those who must not wait for the place where they are kept: a store may accept connections and never
 * answer, and a scrape or a health check that hangs with it would hide all that it has to tell of the rest.
 */
import { unreadableBackups } from '../backup/backup-list.js'
import { counted } from '../support/format.js'

/** @import { BackupList, BackupPort } from '../backup/backup-list.js' */

/** The place of the backups may take at most so long to answer, ms; Prometheus gives up a scrape after ten seconds. */
const PATIENCE_MS = 5000

/**
 * @typedef {object} Look - that is under way
 * @property {number} sinceMs
 * @property {Promise<BackupList | null>} answer - null: it did not come in time. All who wait share this promise, so that
 *   whoever asks again and again leaves nothing behind
 */

/**
 * Lists the backups, one look at a time, and keeps the last list.
 *
 * A look that hangs is not given up for another one: each would hold a thread of the pool that also syncs the mail. The system
 * ends it when the share is back, or is unmounted by force; from then on there are new looks.
 */
export class BackupWatch {
  #backups
  #clock
  #patienceMs
  /** @type {{ atMs: number, list: BackupList } | null} */
  #last = null
  /** @type {Look | null} */
  #look = null

  /**
   * @param {object} options
   * @param {BackupPort} options.backups
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {number} [options.patienceMs]
   */
  constructor({ backups, clock, patienceMs = PATIENCE_MS }) {
    this.#backups = backups
    this.#clock = clock
    this.#patienceMs = patienceMs
  }

  /**
   * @param {number} ageMs - a list that is no older will do, without a new look
   * @returns {Promise<BackupList>} with a `problem` where the place does not answer
   * @throws what listing throws
   */
  async list(ageMs) {
    const nowMs = this.#clock.nowMs()
    if (this.#last !== null && Math.abs(nowMs - this.#last.atMs) <= ageMs) return this.#last.list
    const { sinceMs, answer } = (this.#look ??= this.#begin(nowMs))
    return (await answer) ?? this.#silence(sinceMs)
  }

  /**
   * @param {number} sinceMs
   * @returns {Look}
   */
  #begin(sinceMs) {
    const answer = new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(null), this.#patienceMs)
      this.#read(sinceMs)
        .finally(() => clearTimeout(timer))
        .then(resolve, reject)
    })
    return { sinceMs, answer }
  }

  /**
   * @param {number} atMs
   * @returns {Promise<BackupList>}
   */
  async #read(atMs) {
    try {
      const list = await this.#backups.list()
      this.#last = { atMs, list }
      return list
    } finally {
      this.#look = null
    }
  }

  /**
   * @param {number} sinceMs
   * @returns {BackupList}
   */
  #silence(sinceMs) {
    const seconds = Math.round((this.#clock.nowMs() - sinceMs) / 1000)
    return unreadableBackups(`no answer for ${counted(seconds, 'second')}`)
  }
}
