/**
 * Which messages name which in Message-ID, References and In-Reply-To, with a number for each identifier: messages one after the
 * other, in arrays of numbers.
 */
import { Uint32List } from '../../support/uint32-list.js'

/** Its messages are counted from 0. */
export class LinkList {
  #keys = new Uint32List()
  #own = new Uint32List()
  #ends = new Uint32List()
  #references = new Uint32List()

  /** @returns {number} memory */
  get bytes() {
    const lists = [this.#keys, this.#own, this.#ends, this.#references]
    return lists.reduce((sum, { values }) => sum + values.byteLength, 0)
  }

  /** @returns {number} messages */
  get count() {
    return this.#keys.length
  }

  /** @returns {number} of all messages together */
  get referenceCount() {
    return this.#references.length
  }

  /** @returns {Uint32Array} what stands for each message: its UID or its slot */
  get keys() {
    return this.#keys.toArray()
  }

  /** @returns {Uint32Array} numbers of the references of all messages, those of one are from `startOf` to `endOf` it */
  get references() {
    return this.#references.toArray()
  }

  /**
   * @param {number} nth
   * @returns {number}
   */
  keyOf(nth) {
    return this.#keys.at(nth)
  }

  /**
   * @param {number} nth
   * @returns {number} of its Message-ID; 0 where it has none
   */
  ownOf(nth) {
    return this.#own.at(nth)
  }

  /**
   * @param {number} nth
   * @returns {number}
   */
  startOf(nth) {
    return nth === 0 ? 0 : this.#ends.at(nth - 1)
  }

  /**
   * @param {number} nth
   * @returns {number}
   */
  endOf(nth) {
    return this.#ends.at(nth)
  }

  /**
   * @param {number} key
   * @param {number} own - number of its Message-ID; 0 where it has none
   * @param {readonly number[]} references - numbers, oldest first
   */
  add(key, own, references) {
    for (let at = 0; at < references.length; at++)
      this.#references.push(/** @type {number} */ (references[at]))
    this.#end(key, own)
  }

  /**
   * @param {number} key
   * @param {LinkList} from
   * @param {number} nth - message there
   */
  copy(key, from, nth) {
    const end = from.endOf(nth)
    for (let at = from.startOf(nth); at < end; at++) this.#references.push(from.#references.at(at))
    this.#end(key, from.ownOf(nth))
  }

  /** Leaves nothing. */
  clear() {
    for (const list of [this.#keys, this.#own, this.#ends, this.#references]) list.length = 0
  }

  /**
   * @param {number} key
   * @param {number} own
   */
  #end(key, own) {
    this.#keys.push(key)
    this.#own.push(own)
    this.#ends.push(this.#references.length)
  }
}
