/**
 * Replies of commands that have been read and wait for the disk: written one after the other, in the order of the
 * commands, each as soon as it can be.
 */

/** At most so many commands wait: a few milliseconds of work for the store. */
const MAX_WAITING = 32

/** The waiting commands hold at most so many bytes in memory; one alone may hold more. */
const MAX_HELD_BYTES = 1024 * 1024

/** The replies of one session. */
export class LateReplies {
  #waiting = 0
  #heldBytes = 0
  #adding = 0
  #onFailure
  /** @type {Promise<void>} */
  #last = Promise.resolve()
  /** @type {(() => void) | null} */
  #notify = null

  /** @param {(error: unknown) => void} onFailure - told of a reply that could not be given */
  constructor(onFailure) {
    this.#onFailure = onFailure
  }

  /**
   * @param {{ heldBytes: number, addsMessages: boolean }} command - what it holds in memory until then; whether it adds messages
   * @param {() => Promise<void>} reply - waits for its result and writes it; called when all before it have
   */
  add({ heldBytes, addsMessages }, reply) {
    const added = addsMessages ? 1 : 0
    this.#waiting++
    this.#heldBytes += heldBytes
    this.#adding += added
    this.#last = this.#last
      .then(reply)
      .catch(this.#onFailure)
      .then(() => {
        this.#waiting--
        this.#heldBytes -= heldBytes
        this.#adding -= added
        this.#notify?.()
      })
  }

  /** @returns {boolean} whether none waits */
  get isIdle() {
    return this.#waiting === 0
  }

  /** @returns {boolean} whether one of them adds messages */
  get addMessages() {
    return this.#adding > 0
  }

  /** @returns {boolean} whether any waits behind the one that is being written */
  get hasMore() {
    return this.#waiting > 1
  }

  /** Waits until another command may begin. */
  async makeRoom() {
    while (this.#waiting >= MAX_WAITING || this.#heldBytes >= MAX_HELD_BYTES) {
      await new Promise((resolve) => {
        this.#notify = () => resolve(undefined)
      })
      this.#notify = null
    }
  }

  /** Waits until all have been written. */
  async settle() {
    if (this.#waiting > 0) await this.#last
  }
}
