/**
 * Which messages name which in Message-ID, References and In-Reply-To, with a number for each identifier: kept with the view
 * of their mailbox, because a message's links never change, and in a fifth of the memory that the identifiers take.
 *
 * New messages come behind the others. To find the number of an identifier that they name, there is a hash for each number,
 * and the UID of a message that names its identifier, to be read there. UIDs stand for messages because slots may be dropped.
 */
import { countBelowFrom } from '../../support/count-below.js'
import { filterInSlices } from '../../support/slicer.js'
import { Uint32List } from '../../support/uint32-list.js'
import { LinkList } from './link-list.js'

/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('../../support/slicer.js').Slicer} Slicer */

/** At most so many references for each message are kept, on average; those of mailing lists with more are read each time. */
const REFERENCES_A_MESSAGE = 8

/** So many references more are kept in any case. */
const SPARE_REFERENCES = 4096

/** Identifiers of one hash that are told apart: by chance there are two among 100,000. */
const MAX_ALIKE = 8

/** Of the messages of one view. */
export class KeptLinks {
  /** By UID. */
  #links = new LinkList()
  #hashes = new Uint32List()
  #namedBy = new Uint32List()
  #isTooMuch = false

  /** @returns {number} memory */
  get bytes() {
    return this.#links.bytes + this.#hashes.values.byteLength + this.#namedBy.values.byteLength
  }

  /** @returns {number} messages, also those that have gone since */
  get count() {
    return this.#links.count
  }

  /** @returns {number} 0 if there is none */
  get lastUid() {
    return this.count === 0 ? 0 : this.#links.keyOf(this.count - 1)
  }

  /** @returns {boolean} whether there were more references than should be kept: then they are not complete */
  get isTooMuch() {
    return this.#isTooMuch
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
    this.#links.add(uid, own, this.#isTooMuch ? [] : references)
    const maxReferences = SPARE_REFERENCES + REFERENCES_A_MESSAGE * this.count
    if (this.#links.referenceCount > maxReferences) this.#isTooMuch = true
  }

  /**
   * @param {string} id
   * @returns {{ number: number, uid: number }[] | null} numbers that may be this identifier's, and for each the UID of a message
   *   that names the identifier of that number; null: they are too many to look at
   */
  numbersLike(id) {
    const hash = hashOf(id)
    const hashes = this.#hashes.toArray()
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
    const { keys } = this.#links
    let at = 0
    const isMissing = (/** @type {number} */ slot) => {
      const uid = /** @type {number} */ (uids[slot])
      at = countBelowFrom(keys, uid, at, keys.length)
      return keys[at] !== uid
    }
    return await filterInSlices(slots, isMissing, slicer)
  }

  /**
   * @param {MailboxView} view
   * @param {readonly number[]} slots - ascending
   * @param {number} pageSize - slots a page, above 0
   * @returns {Generator<LinkList, void, void>} pages by slot, each good until the next one is asked for; without those of which
   *   nothing is known here, because they have gone meanwhile
   */
  *linksOf({ uids }, slots, pageSize) {
    const page = new LinkList()
    const { keys } = this.#links
    let at = 0
    for (let nth = 0; nth < slots.length; nth++) {
      const slot = /** @type {number} */ (slots[nth])
      const uid = /** @type {number} */ (uids[slot])
      at = countBelowFrom(keys, uid, at, keys.length)
      if (keys[at] === uid) page.copy(slot, this.#links, at)
      if (page.count < pageSize && nth < slots.length - 1) continue
      yield page
      page.clear()
    }
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
