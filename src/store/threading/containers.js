/**
 * The containers that messages are threaded in, RFC 5256 §3: a number for each, from 1 on, and all that is known of them in
 * arrays. Of 100,000 objects that name each other, the collection of garbage would hold up everybody for 10 ms and more.
 */
import { grown } from '../../support/grown.js'

/** No container: a head has no parent, the last child no sibling. */
export const NONE = 0

/** What `slotOf` says of a message that is not there. */
const DUMMY = -1

/** Trees of messages, and of dummies for those that others refer to. */
export class Containers {
  #length = 1
  #slots
  #parents
  #linked
  #firsts
  #lasts
  #nexts

  /** @param {number} [room] - for so many at first */
  constructor(room = 1024) {
    const capacity = room + 1
    this.#slots = new Int32Array(capacity)
    this.#parents = new Uint32Array(capacity)
    /** How many have this one as their parent. */
    this.#linked = new Uint32Array(capacity)
    this.#firsts = new Uint32Array(capacity)
    this.#lasts = new Uint32Array(capacity)
    this.#nexts = new Uint32Array(capacity)
  }

  /** @returns {number} above all containers */
  get end() {
    return this.#length
  }

  /**
   * @param {number} [slot] - of its message; default: it is a dummy
   * @returns {number} the new container
   */
  create(slot = DUMMY) {
    if (this.#length === this.#slots.length) this.#grow()
    this.#slots[this.#length] = slot
    return this.#length++
  }

  /**
   * @param {number} container
   * @returns {number} of its message; -1: it is a dummy
   */
  slotOf(container) {
    return /** @type {number} */ (this.#slots[container])
  }

  /**
   * @param {number} container
   * @returns {boolean}
   */
  isDummy(container) {
    return this.slotOf(container) === DUMMY
  }

  /**
   * @param {number} dummy
   * @param {number} slot
   */
  putMessage(dummy, slot) {
    this.#slots[dummy] = slot
  }

  /**
   * @param {number} container
   * @returns {number}
   */
  parentOf(container) {
    return /** @type {number} */ (this.#parents[container])
  }

  /**
   * Links go upwards only, so that one is made or broken in no time; lists of children are made from them (`addChild`).
   *
   * @param {number} parent
   * @param {number} child - without a parent
   * @param {number} maxWalked
   * @returns {number} how many links were walked up to see that the new one makes no loop; where it would, or where that would
   *   have to be more than `maxWalked`, none is made
   */
  link(parent, child, maxWalked) {
    let walked = 0
    if (parent === child) return walked
    // A child without children is nobody's ancestor. Nearly every message is one, and then no way up need be walked.
    if (this.#linked[child] !== 0)
      for (let above = this.parentOf(parent); above !== NONE; above = this.parentOf(above)) {
        if (above === child || walked === maxWalked) return walked
        walked++
      }
    this.#parents[child] = parent
    this.#linked[parent] = /** @type {number} */ (this.#linked[parent]) + 1
    return walked
  }

  /** @param {number} child */
  unlink(child) {
    const parent = this.parentOf(child)
    if (parent === NONE) return
    this.#linked[parent] = /** @type {number} */ (this.#linked[parent]) - 1
    this.#parents[child] = NONE
  }

  /**
   * @param {number} container
   * @returns {number}
   */
  firstChildOf(container) {
    return /** @type {number} */ (this.#firsts[container])
  }

  /**
   * @param {number} child
   * @returns {number}
   */
  nextSiblingOf(child) {
    return /** @type {number} */ (this.#nexts[child])
  }

  /**
   * @param {number} container
   * @returns {number} the only child; `NONE` where there is none, or more than one
   */
  onlyChildOf(container) {
    const first = this.firstChildOf(container)
    return this.nextSiblingOf(first) === NONE ? first : NONE
  }

  /**
   * @param {number} head
   * @returns {number} the message that stands for it: of a dummy, the first child
   */
  leaderOf(head) {
    return this.isDummy(head) ? this.firstChildOf(head) : head
  }

  /**
   * @param {number} parent
   * @param {number} child - in no list of children; becomes the last in this one
   */
  addChild(parent, child) {
    if (this.firstChildOf(parent) === NONE) this.#firsts[parent] = child
    else this.#nexts[/** @type {number} */ (this.#lasts[parent])] = child
    this.#lasts[parent] = child
    this.#nexts[child] = NONE
    this.#parents[child] = parent
  }

  /**
   * @param {number} from - has none then
   * @param {number} to - they become its last children
   */
  moveChildren(from, to) {
    for (let child = this.firstChildOf(from), next; child !== NONE; child = next) {
      next = this.nextSiblingOf(child)
      this.addChild(to, child)
    }
    this.clearChildren(from)
  }

  /**
   * @param {number} parent - has none then, though its children go on naming it as their parent
   */
  clearChildren(parent) {
    this.#firsts[parent] = NONE
  }

  #grow() {
    const capacity = 2 * this.#length
    this.#slots = grown(this.#slots, new Int32Array(capacity))
    this.#parents = grown(this.#parents, new Uint32Array(capacity))
    this.#linked = grown(this.#linked, new Uint32Array(capacity))
    this.#firsts = grown(this.#firsts, new Uint32Array(capacity))
    this.#lasts = grown(this.#lasts, new Uint32Array(capacity))
    this.#nexts = grown(this.#nexts, new Uint32Array(capacity))
  }
}
