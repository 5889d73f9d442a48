/**
 * A follower of a mailbox's view.
 */

/**
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./mailbox-view.js').ChangeRecord} ChangeRecord
 */

/** One session's (or one watcher's) place in the changes of a view. */
export class ViewAttachment {
  #view
  #onChange
  /** Tombstones that were taken: a message goes once, so that their number is enough. */
  #unacknowledged = 0
  /** Called after tombstones were dropped: every slot number known before is void. */
  onCompact = () => {}
  /** Of the log. */
  next = 0
  /** Whether slot numbers are in use; the view's own business. */
  isBusy = false

  /**
   * @param {MailboxView} view
   * @param {() => void} onChange
   */
  constructor(view, onChange) {
    this.#view = view
    this.#onChange = onChange
  }

  /** @returns {boolean} whether `take` has something to give */
  get hasPending() {
    return this.#view.log.hasNewsFor(this)
  }

  /** @returns {boolean} whether this attachment stands against dropping tombstones */
  get needsSlots() {
    return this.isBusy || this.hasPending || this.#unacknowledged > 0
  }

  /**
   * Drops no tombstones, or the slot numbers in what it returns would be void: whoever is not busy must use them before
   * anything else happens to the view.
   *
   * @returns {ChangeRecord[]} everything since the last take
   */
  take() {
    const records = this.#view.log.take(this)
    for (const record of records) {
      if (record.kind === 'expunge') this.#unacknowledged += record.slots.length
    }
    return records
  }

  /**
   * While busy, slot numbers stay what they are.
   *
   * @param {boolean} isBusy
   */
  setBusy(isBusy) {
    this.isBusy = isBusy
    this.#view.compactIfPossible()
  }

  /**
   * @param {number} count - tombstones among those taken that the client has been told of, or need never hear of
   */
  acknowledgeExpunged(count) {
    this.#unacknowledged -= count
    this.#view.compactIfPossible()
  }

  /** Ends the attachment; it takes no more changes and stands against nothing. */
  detach() {
    this.#view.removeAttachment(this)
  }

  /** Tells the owner that there is something to take; the view's own business. */
  notify() {
    this.#onChange()
  }
}
