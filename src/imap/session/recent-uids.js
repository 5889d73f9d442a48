/**
 * The messages that are \Recent in one session: those for which it was the first to be told (RFC 3501 §2.3.2).
 */

/** Ranges of UIDs, one for each time that new messages were taken. */
export class RecentUids {
  /** @type {{ from: number, to: number }[]} ascending; `to` exclusive */
  ranges = []

  /** @returns {boolean} */
  get isEmpty() {
    return this.ranges.length === 0
  }

  /**
   * @param {number} fromUid - some messages from this UID on may be \Recent in the session already
   * @param {number} toUid - exclusive
   */
  add(fromUid, toUid) {
    const last = this.ranges.at(-1)
    const from = Math.max(fromUid, last?.to ?? 0)
    if (from >= toUid) return
    if (last?.to === from) last.to = toUid
    else this.ranges.push({ from, to: toUid })
  }

  /** No message is \Recent in this session any more. */
  clear() {
    this.ranges = []
  }

  /**
   * @param {number} uid
   * @returns {boolean} whether the message is \Recent in this session
   */
  has(uid) {
    // The ranges ascend, and most messages are older than all of them.
    for (const { from, to } of this.ranges) if (uid < to) return uid >= from
    return false
  }
}
