/**
 * Step 1 of THREAD=REFERENCES, RFC 5256 §3: each message below the last one that it refers to.
 */
import { grown } from '../../support/grown.js'
import { Uint32List } from '../../support/uint32-list.js'
import { Containers, NONE } from './containers.js'
import { numberedLinks } from './numbered-links.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */

/**
 * @typedef {object} LinkedMessages
 * @property {Containers} containers
 * @property {Uint32Array} messages - the containers of messages that are there, in the order of their slots
 */

/** Messages and links between two looks at the clock: below a millisecond. */
const STEP_ITEMS = 1024

/**
 * Links that are walked up to see that a new one makes no loop: a second of work. Threads of people need none or a few for
 * each message; after so many a link that would have to be looked at is not made.
 */
const MAX_WALKED = 10_000_000

/** The containers of identifiers, by number. */
class Identified {
  #containers
  #byNumber = new Uint32Array(1024)

  /** @param {Containers} containers - in which new ones are made */
  constructor(containers) {
    this.#containers = containers
  }

  /**
   * @param {number} number
   * @returns {number}
   */
  containerOf(number) {
    if (number >= this.#byNumber.length)
      this.#byNumber = grown(this.#byNumber, new Uint32Array(2 * number))
    const known = /** @type {number} */ (this.#byNumber[number])
    if (known !== NONE) return known
    return (this.#byNumber[number] = this.#containers.create())
  }
}

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<LinkedMessages>} linked upwards
 */
export async function linkMessages(source, slots, slicer) {
  const containers = new Containers(slots.length)
  const identified = new Identified(containers)
  const messages = new Uint32List(slots.length)
  let items = 0
  let walked = 0
  let nextBreath = STEP_ITEMS
  for await (const page of numberedLinks(source, slots, slicer)) {
    const { references } = page
    for (let nth = 0; nth < page.count; nth++) {
      const message = place(page.keyOf(nth), page.ownOf(nth), containers, identified)
      messages.push(message)
      items++
      let last = NONE
      const end = page.endOf(nth)
      for (let at = page.startOf(nth); at < end; at++) {
        const reference = identified.containerOf(/** @type {number} */ (references[at]))
        items++
        if (last !== NONE && containers.parentOf(reference) === NONE)
          walked += containers.link(last, reference, MAX_WALKED - walked)
        last = reference
        if (items + walked < nextBreath) continue
        nextBreath = items + walked + STEP_ITEMS
        await slicer.breathe()
      }
      containers.unlink(message)
      if (last !== NONE) walked += containers.link(last, message, MAX_WALKED - walked)
    }
    await slicer.breathe()
  }
  return { containers, messages: messages.toArray() }
}

/**
 * @param {number} slot
 * @param {number} own - number of its Message-ID; 0 where it has none
 * @param {Containers} containers
 * @param {Identified} identified
 * @returns {number} the container of the message
 */
function place(slot, own, containers, identified) {
  if (own !== 0) {
    const known = identified.containerOf(own)
    if (containers.isDummy(known)) {
      containers.putMessage(known, slot)
      return known
    }
  }
  // A second message of the same id is one of its own.
  return containers.create(slot)
}
