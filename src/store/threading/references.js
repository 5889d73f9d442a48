/**
 * THREAD=REFERENCES, RFC 5256 §3: threads by Message-ID and References, and by subject where these say nothing. The
 * steps are numbered as there.
 *
 * Links go upwards only until step 3, so that one is made or broken in no time; lists of children are made from them.
 */
import { filterInSlices } from '../../support/slicer.js'
import { sortByKey } from '../sort/radix-sort.js'
import { sortInSlices } from '../sort/sliced-sort.js'
import { numberColumn, rankColumn } from '../sort/sort-columns.js'
import { EMPTY_RANK } from '../sort/text-ranks.js'
import { knownReplies } from './known-replies.js'
import { numberedLinks } from './numbered-links.js'
import { gatherBySubject } from './subject-gathering.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { ThreadNode } from './thread-messages.js' */

/** @type {Container[]} as most messages have none */
const NO_CHILDREN = []

/** A message that is there, or a dummy for one that others refer to. */
class Container {
  slot = -1
  /** Among all messages, by sent date and then in the order of the mailbox. */
  place = 0
  /** Rank of the base subject. */
  subject = EMPTY_RANK
  isReply = false
  /** @type {Container | null} */
  parent = null
  /** How many containers have this one as their parent. */
  childCount = 0
  children = NO_CHILDREN

  /** @returns {boolean} */
  get isDummy() {
    return this.slot < 0
  }

  /** @param {Container} child - gets the last place in `children` */
  add(child) {
    if (this.children === NO_CHILDREN) this.children = [child]
    else this.children.push(child)
  }
}

/** @typedef {Container} ThreadContainer */

/** Threads, references or links between two looks at the clock: below a millisecond. */
const STEP_ITEMS = 1024

/**
 * Links that are walked up to see that a new one makes no loop: a second of work. Threads of people need none or a few for
 * each message; after so many a link that would have to be looked at is not made.
 */
const MAX_WALKED = 10_000_000

/** @returns {Container} */
const newDummy = () => new Container()

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<ThreadNode[]>}
 */
export async function threadByReferences(source, slots, slicer) {
  const messages = await putByDate(source, await linkMessages(source, slots, slicer), slicer)
  const roots = await pruneDummies(messages, slicer)
  await markReplies(source, roots, slicer)
  const gathered = await gatherBySubject(roots, newDummy, slicer)
  const heads = await sortHeads(gathered, messages.length, slicer)
  for (const [nth, message] of messages.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    if (message.children.length > 1) message.children = await sortSiblings(message.children, slicer)
  }
  return heads
}

/**
 * Step 1.
 *
 * @param {MessageSource} source
 * @param {readonly number[]} slots
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} one for each message, in the order of the slots
 */
async function linkMessages(source, slots, slicer) {
  /** @type {Container[]} by number */
  const containers = []
  const containerOf = (/** @type {number} */ number) => (containers[number] ??= new Container())
  let seen = 0
  let walked = 0
  let nextBreath = STEP_ITEMS
  /** @type {Container[]} */
  const messages = []
  for await (const page of numberedLinks(source, slots, slicer)) {
    for (const { slot, own, references } of page) {
      if (slicer.isSpent) await slicer.breathe()
      const known = own === 0 ? new Container() : containerOf(own)
      // A second message of the same id is one of its own.
      const message = known.isDummy ? known : new Container()
      message.slot = slot
      messages.push(message)
      /** @type {Container | null} */
      let last = null
      for (let at = 0; at < references.length; at++) {
        const reference = containerOf(/** @type {number} */ (references[at]))
        seen++
        if (last !== null && reference.parent === null)
          walked += link(last, reference, MAX_WALKED - walked)
        last = reference
        if (seen + walked < nextBreath) continue
        nextBreath = seen + walked + STEP_ITEMS
        await slicer.breathe()
      }
      unlink(message)
      if (last !== null) walked += link(last, message, MAX_WALKED - walked)
    }
  }
  return messages
}

/**
 * @param {MessageSource} source
 * @param {readonly Container[]} messages - in the order of their slots; they learn their dates and subjects
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} by sent date
 */
async function putByDate(source, messages, slicer) {
  /** @type {number[]} */
  const slots = []
  const places = new Uint32Array(messages.length)
  for (const [index, { slot }] of messages.entries()) {
    if (index % STEP_ITEMS === 0) await slicer.breathe()
    slots.push(slot)
    places[index] = index
  }
  const dates = await numberColumn(source, 'DATE', slots, slicer)
  const subjects = await rankColumn(source, 'SUBJECT', slots, slicer)
  const keys = new Float64Array(messages.length)
  for (const [index, message] of messages.entries()) {
    if (index % STEP_ITEMS === 0) await slicer.breathe()
    keys[index] = dates[message.slot] ?? 0
    // 0: it has gone since its links were read, and so may others have, of any subject.
    message.subject = subjects[message.slot] || EMPTY_RANK
  }
  const indexes = await sortByKey(places, keys, false, slicer)
  /** @type {Container[]} */
  const byDate = []
  for (const index of indexes) {
    if (byDate.length % STEP_ITEMS === 0) await slicer.breathe()
    const message = /** @type {Container} */ (messages[index])
    message.place = byDate.length
    byDate.push(message)
  }
  return byDate
}

/**
 * @param {Container} parent
 * @param {Container} child - without a parent
 * @param {number} maxWalked
 * @returns {number} how many links were walked up
 */
function link(parent, child, maxWalked) {
  let walked = 0
  if (parent === child) return walked
  // A child without children is nobody's ancestor. Nearly every message is one, and then no way up need be walked.
  if (child.childCount > 0) {
    for (let above = parent.parent; above !== null; above = above.parent) {
      if (above === child || walked === maxWalked) return walked
      walked++
    }
  }
  child.parent = parent
  parent.childCount++
  return walked
}

/** @param {Container} child */
function unlink(child) {
  if (child.parent !== null) child.parent.childCount--
  child.parent = null
}

/**
 * Steps 2 and 3. A dummy's children become those of the nearest message above. Where there is none, they stay together
 * under one dummy, unless it has a single child. All children, and with that step 4, are by date as the messages are.
 *
 * @param {readonly Container[]} messages - by date
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} the heads of threads, by date
 */
async function pruneDummies(messages, slicer) {
  /** @type {Map<Container, Container>} the message or topmost dummy that a dummy's children come to */
  const heirs = new Map()
  /** @type {Container[]} */
  const heads = []
  for (const [nth, message] of messages.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    if (message.parent === null) heads.push(message)
    else {
      const parent = heirOf(message.parent, heirs)
      parent.add(message)
      if (parent.isDummy && parent.children.length === 1) heads.push(parent)
    }
  }
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    if (head.isDummy && head.children.length === 1) heads[nth] = head.children[0] ?? head
  }
  return heads
}

/**
 * @param {Container} start
 * @param {Map<Container, Container>} heirs - remembers what was found
 * @returns {Container}
 */
function heirOf(start, heirs) {
  /** @type {Container[]} */
  const passed = []
  let heir = start
  while (heir.isDummy && heir.parent !== null) {
    const known = heirs.get(heir)
    if (known !== undefined) {
      heir = known
      break
    }
    passed.push(heir)
    heir = heir.parent
  }
  for (const dummy of passed) heirs.set(dummy, heir)
  return heir
}

/**
 * Step 6 for the heads of threads. The children of dummies are sorted too: the first stands for its dummy.
 *
 * @param {readonly Container[]} heads
 * @param {number} count - of messages
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>}
 */
async function sortHeads(heads, count, slicer) {
  /** @type {(Container | undefined)[]} */
  const byPlace = new Array(count)
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    if (head.isDummy) head.children = await sortSiblings(head.children, slicer)
    byPlace[leaderOf(head).place] = head
  }
  const isThere = (/** @type {Container | undefined} */ head) => head !== undefined
  return /** @type {Container[]} */ (await filterInSlices(byPlace, isThere, slicer))
}

/**
 * @param {Container[]} siblings
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} by sent date, as they are mostly
 */
async function sortSiblings(siblings, slicer) {
  const compare = (/** @type {Container} */ left, /** @type {Container} */ right) =>
    leaderOf(left).place - leaderOf(right).place
  for (let at = 1; at < siblings.length; at++)
    if (
      compare(
        /** @type {Container} */ (siblings[at - 1]),
        /** @type {Container} */ (siblings[at])
      ) > 0
    )
      return await sortInSlices(siblings, compare, slicer)
  return siblings
}

/**
 * @param {Container} head
 * @returns {Container} the message that stands for it
 */
function leaderOf(head) {
  return head.isDummy ? (head.children[0] ?? head) : head
}

/**
 * What step 5 asks of messages at the head of a thread: whether their subject is that of a reply. Only where two
 * threads have one subject does it matter, and only there are the ENVELOPEs read.
 *
 * @param {MessageSource} source
 * @param {readonly Container[]} heads
 * @param {Slicer} slicer
 */
async function markReplies(source, heads, slicer) {
  /** @type {Map<number, number>} */
  const counts = new Map()
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const { subject } = leaderOf(head)
    if (subject !== EMPTY_RANK) counts.set(subject, (counts.get(subject) ?? 0) + 1)
  }
  /** @type {Container[]} */
  const asked = []
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    if (!head.isDummy && (counts.get(head.subject) ?? 0) > 1) asked.push(head)
  }
  const wanted = await sortInSlices(asked, (left, right) => left.slot - right.slot, slicer)
  /** @type {number[]} */
  const slots = []
  for (const { slot } of wanted) {
    if (slots.length % STEP_ITEMS === 0) await slicer.breathe()
    slots.push(slot)
  }
  const isReply = await knownReplies(source, slots, slicer)
  for (const [nth, head] of wanted.entries()) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    head.isReply = isReply(head.slot)
  }
}
