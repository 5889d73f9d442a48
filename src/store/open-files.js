/**
 * Which of a process's open mailboxes have their file open. One that nobody has read or written for a while sleeps: its
 * sessions, its key and its lock stay, while descriptors, page cache and compiled statements go; the next command opens
 * the file again. Beyond a number of files, those longest unused go to sleep at once.
 */
import { Slicer } from '../support/slicer.js'

/**
 * @typedef {object} SleepingFile - what is needed of an account's database
 * @property {boolean} isAsleep
 * @property {number} idleMs - how long ago it was last used
 * @property {() => Promise<boolean>} sleep - does nothing while it is in use
 */

/** Times in `sleepAfterMs` that the files are looked at. */
const LOOKS = 4
const MIN_LOOK_MS = 50
/** Used within this, a file is likely to be used again at once. */
const BUSY_MS = 1000

/** The files of a process. */
export class OpenFiles {
  #sleepAfterMs
  #maxAwake
  #onError
  /** @type {Set<SleepingFile>} */
  #files = new Set()
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** @type {Promise<void> | null} a look that is under way */
  #looking = null
  /** Whether another look is wanted behind it. */
  #isWanted = false

  /**
   * @param {object} options
   * @param {number} options.sleepAfterMs - unused for so long, a file sleeps; 0: never for that reason
   * @param {number} options.maxAwake - more sleep as soon as they are not in use
   * @param {(error: unknown) => void} options.onError - a file could not be closed
   */
  constructor({ sleepAfterMs, maxAwake, onError }) {
    this.#sleepAfterMs = sleepAfterMs
    this.#maxAwake = maxAwake
    this.#onError = onError
  }

  /** @returns {number} files that are open */
  get awake() {
    let count = 0
    for (const { isAsleep } of this.#files) if (!isAsleep) count++
    return count
  }

  /** @returns {number} mailboxes, those whose files sleep included */
  get size() {
    return this.#files.size
  }

  /**
   * @param {SleepingFile} file
   * @returns {() => void} to be called when it is closed for good
   */
  join(file) {
    this.#files.add(file)
    const lookMs = Math.max(MIN_LOOK_MS, (this.#sleepAfterMs || MIN_LOOK_MS * LOOKS * 100) / LOOKS)
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref()
    if (this.awake > this.#maxAwake) this.#look()
    return () => {
      this.#files.delete(file)
      if (this.#files.size > 0 || this.#timer === null) return
      clearInterval(this.#timer)
      this.#timer = null
    }
  }

  /** Begins a look; one that is under way is followed by another. */
  #look() {
    if (this.#looking !== null) {
      this.#isWanted = true
      return
    }
    this.#looking = this.#closeTired().finally(() => {
      this.#looking = null
      if (this.#isWanted) this.#look()
    })
  }

  /** Gives way to others in between: after a rush of logins hundreds of files go to sleep at once. */
  async #closeTired() {
    this.#isWanted = false
    const awake = [...this.#files].filter((file) => !file.isAsleep)
    awake.sort((a, b) => b.idleMs - a.idleMs)
    let excess = awake.length - this.#maxAwake
    const slicer = new Slicer()
    for (const file of awake) {
      const { idleMs } = file
      const isTired = this.#sleepAfterMs > 0 && idleMs >= this.#sleepAfterMs
      if (!isTired && excess <= 0) break
      if (!isTired && idleMs < BUSY_MS) continue
      excess--
      file.sleep().catch(this.#onError)
      await slicer.breathe()
    }
  }
}
