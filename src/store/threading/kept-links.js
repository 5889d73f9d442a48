/**
 * Which messages name which in Message-ID, References and In-Reply-To, with a number for each identifier: kept with the view
 * of their mailbox, because a message's links never change, and in a fifth of the memory that the identifiers take.
 *
 * New messages come behind the others. To find the number of an identifier that they name, there is a hash for each number,
 * and the UID of a message that names its identifier, to be read there. UIDs stand for messages because slots may be dropped.
 */
import { countBelow } from '../../support/count-below.js'
import { grown } from '../../support/grown.js'
import { filterInSlices } from '../../support/slicer.js'

/**
 * @typedef {object} NumberedLinks - of a message
 * @property {number} slot
 * @property {number} own - number of its Message-ID; 0 where it has none
 * @property {ArrayLike<number>} references - numbers, oldest first
 */

/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('../../support/slicer.js').Slicer} Slicer */

/** At most so many references for each message are kept, on average; those of mailing lists with more are read each time. */
const REFERENCES_A_MESSAGE = 8

/** So many references more are kept in any case. */
const SPARE_REFERENCES = 4096

/** Identifiers of one hash that are told apart: by chance there are two among 100,000. */
const MAX_ALIKE = 8

/** @type {ArrayLike<number>} */
const NO_REFERENCES = []

/** Whole numbers below 2^32, one added after the other. */
class NumberList {
  values = new Uint32Array(1024)
  length = 0

  /** @param {number} value */
  push(value) {
    if (this.length === this.values.length)
      this.values = grown(this.values, new Uint32Array(2 * this.length))
    this.values[this.length++] = value
  }

  /**
   * @param {number} index
   * @returns {number}
   */
  at(index) {
    return /** @type {number} */ (this.values[index])
  }
}

/** Of the messages of one view. */
export class KeptLinks {
  #uids = new NumberList()
  #own = new NumberList()
  /** Where the references of each message end. */
  #ends = new NumberList()
  #references = new NumberList()
  #hashes = new NumberList()
  #namedBy = new NumberList()

  /** @returns {number} memory */
  get bytes() {
    const lists = [this.#uids, this.#own, this.#ends, this.#references, this.#hashes, this.#namedBy]
    return lists.reduce((sum, { values }) => sum + values.byteLength, 0)
  }

  /** @returns {number} messages, also those that have gone since */
  get count() {
    return this.#uids.length
  }

  /** @returns {number} 0 if there is none */
  get lastUid() {
    return this.count === 0 ? 0 : this.#uids.at(this.count - 1)
  }

  /** @returns {boolean} whether there are more references than should be kept: then they are not complete */
  get isTooMuch() {
    return this.#references.length > SPARE_REFERENCES + REFERENCES_A_MESSAGE * this.count
  }

  /**
   * @param {string} id - that has no number yet
   * @param {number} uid - of a message that names it
   * @returns {number} its number, from 1 on
   */
  addId(id, uid) {
    this.#hashes.push(hashOf(id))
    this.#namedBy.push(uid)
    return this.#hashes.length
  }

  /**
   * @param {number} uid - above `lastUid`
   * @param {number} own
   * @param {readonly number[]} references
   */
  add(uid, own, references) {
    this.#uids.push(uid)
    this.#own.push(own)
    if (!this.isTooMuch) for (const each of references) this.#references.push(each)
    this.#ends.push(this.#references.length)
  }

  /**
   * @param {string} id
   * @returns {{ number: number, uid: number }[] | null} numbers that may be this identifier's, and for each the UID of a message
   *   that names the identifier of that number; null: they are too many to look at
   */
  numbersLike(id) {
    const hash = hashOf(id)
    const hashes = this.#hashes.values.subarray(0, this.#hashes.length)
    const found = []
    for (let at = hashes.indexOf(hash); at >= 0; at = hashes.indexOf(hash, at + 1)) {
      if (found.length === MAX_ALIKE) return null
      found.push({ number: at + 1, uid: this.#namedBy.at(at) })
    }
    return found
  }

  /**
   * @param {MailboxView} view
   * @param {readonly number[]} slots - ascending
   * @param {Slicer} slicer
   * @returns {Promise<number[]>} those of whose messages nothing is known here
   */
  async missing({ uids }, slots, slicer) {
    let at = 0
    const isMissing = (/** @type {number} */ slot) => {
      const uid = /** @type {number} */ (uids[slot])
      while (at < this.count && this.#uids.at(at) < uid) at++
      return at === this.count || this.#uids.at(at) !== uid
    }
    return await filterInSlices(slots, isMissing, slicer)
  }

  /**
   * @param {MailboxView} view
   * @param {readonly number[]} slots
   * @returns {NumberedLinks[]} in their order; without those of which nothing is known here, because they have gone meanwhile
   */
  linksOf({ uids }, slots) {
    return slots.flatMap((slot) => {
      const uid = /** @type {number} */ (uids[slot])
      const at = countBelow(this.#uids.values, uid, this.count)
      if (at === this.count || this.#uids.at(at) !== uid) return []
      const start = at === 0 ? 0 : this.#ends.at(at - 1)
      const end = this.#ends.at(at)
      const references = end > start ? this.#references.values.subarray(start, end) : NO_REFERENCES
      return [{ slot, own: this.#own.at(at), references }]
    })
  }
}

/**
 * @param {string} id
 * @returns {number} FNV-1a; two identifiers may have the same
 */
function hashOf(id) {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
