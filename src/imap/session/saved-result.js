/**
 * What `$` stands for, RFC 5182 §2: the messages that the last SEARCH with RETURN (SAVE) found in the mailbox that is
 * selected. They are kept as UIDs, which no expunge shifts and no later message takes: an expunged message needs no
 * removing, because it is found no more.
 */

/** @typedef {import('../protocol/values/sequence-set.js').NumberRange} NumberRange */

/** A set of UIDs. Two numbers for each run of neighbours: never more than four bytes for each message. */
export class SavedResult {
  #bounds

  /** @param {Iterable<number>} uids - ascending, each once */
  constructor(uids) {
    /** @type {number[]} */
    const bounds = []
    let last = -1
    for (const uid of uids) {
      if (uid === last + 1) bounds[bounds.length - 1] = uid
      else bounds.push(uid, uid)
      last = uid
    }
    this.#bounds = Uint32Array.from(bounds)
  }

  /** @returns {NumberRange[]} UIDs, ascending, apart from each other */
  get ranges() {
    const bounds = this.#bounds
    const ranges = []
    for (let at = 0; at < bounds.length; at += 2)
      ranges.push({ from: bounds[at] ?? 0, to: bounds[at + 1] ?? 0 })
    return ranges
  }
}

/** The value of `$` after SELECT, until a search is saved. */
export const NOTHING_SAVED = new SavedResult([])
