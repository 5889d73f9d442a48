/**
 * Views that nobody uses and that are kept all the same: clients open and close the same few mailboxes again and again,
 * and loading one of 100,000 messages takes some 30 ms. One budget for all accounts of the process; whoever was closed
 * first goes first.
 */

/** @typedef {{ bytes: number, drop: () => void }} Entry */

/** The process's. */
export class IdleViews {
  #totalBytes
  #usedBytes = 0
  /**
   * By the time of closing.
   *
   * @type {Map<object, Entry>}
   */
  #entries = new Map()

  /** @param {{ totalBytes: number }} options - of all of them together; 0 keeps none */
  constructor({ totalBytes }) {
    this.#totalBytes = totalBytes
  }

  /** @returns {number} what they had when they were closed */
  get usedBytes() {
    return this.#usedBytes
  }

  /**
   * @param {import('./mailbox-view.js').MailboxView} view - that its last user has closed
   * @param {() => void} drop - called when it must go to make room, perhaps at once
   */
  keep(view, drop) {
    this.take(view)
    this.#entries.set(view, { bytes: view.bytes, drop })
    this.#usedBytes += view.bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#usedBytes <= this.#totalBytes) break
      this.take(oldest)
      entry.drop()
    }
  }

  /** @param {object} view - that is in use again, or has gone; it need not be here */
  take(view) {
    const entry = this.#entries.get(view)
    if (entry === undefined) return
    this.#entries.delete(view)
    this.#usedBytes -= entry.bytes
  }
}
