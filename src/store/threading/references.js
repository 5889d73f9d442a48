/**
 * THREAD=REFERENCES, RFC 5256 §3: threads by Message-ID and References, and by subject where these say nothing. The
 * steps are numbered as there.
 *
 * Links go upwards only until step 3, so that one is made or broken in no time; lists of children are made from them.
 */
import { isReplyOrForward } from '../../mime/base-subject.js'
import { envelopeSubject } from '../../mime/envelope-reader.js'
import { collationKey } from '../sort/collation.js'
import { readPages, sentSeconds } from '../sort/read-pages.js'
import { sortInSlices } from '../sort/sliced-sort.js'
import { gatherBySubject } from './subject-gathering.js'

/** @import { MessageRecord } from '../account-store.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { ThreadNode } from './thread-messages.js' */

/** A message that is there, or a dummy for one that others refer to. */
class Container {
  slot = -1
  date = 0
  /** Collation key of the base subject. */
  subject = ''
  isReply = false
  /** @type {Container | null} */
  parent = null
  /** How many containers have this one as their parent. */
  childCount = 0
  /** @type {Container[]} */
  children = []

  /** @returns {boolean} */
  get isDummy() {
    return this.slot < 0
  }
}

/** @typedef {Container} ThreadContainer */

/** Threads, references or links between two looks at the clock: below a millisecond. */
const STEP = 1024

/**
 * Identifiers that are kept without a message, beside two for each message. Each takes 300 bytes, and few messages can name
 * very many. Of those that are too many, only that threads have them in common is not seen.
 */
const MAX_ABSENT = 100_000

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
  const messages = await linkMessages(source, slots, slicer)
  const roots = await pruneDummies(messages, slicer)
  const byDate = await sortByDate(roots, slicer)
  await markReplies(source, byDate, slicer)
  const gathered = await gatherBySubject(byDate, newDummy, slicer)
  const heads = await sortByDate(gathered, slicer)
  for (const message of messages) {
    if (message.children.length < 2) continue
    await slicer.breathe()
    message.children = await sortSiblings(message.children, slicer)
  }
  return heads
}

/**
 * Step 1.
 *
 * @param {MessageSource} source
 * @param {readonly number[]} slots
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} one for each message
 */
async function linkMessages(source, slots, slicer) {
  /** @type {Map<string, Container>} */
  const byId = new Map()
  const room = MAX_ABSENT + 2 * slots.length
  const containerOf = (/** @type {string} */ id) => {
    let container = byId.get(id)
    if (container === undefined) byId.set(id, (container = new Container()))
    return container
  }
  let seen = 0
  let walked = 0
  let nextBreath = STEP
  /** @type {Container[]} */
  const messages = []
  for await (const page of readPages(source, slots, { search: true }, slicer)) {
    for (const { slot, record } of page) {
      if (slicer.isSpent) await slicer.breathe()
      const { messageId } = record
      const known = messageId == null ? new Container() : containerOf(messageId)
      // A second message of the same id is one of its own.
      const message = known.isDummy ? known : new Container()
      message.slot = slot
      message.date = sentSeconds(record)
      message.subject = collationKey(record.baseSubject ?? '')
      messages.push(message)
      /** @type {Container | null} */
      let last = null
      for (const id of referencesOf(record)) {
        if (byId.size >= room && !byId.has(id)) continue
        const reference = containerOf(id)
        seen++
        if (last !== null && reference.parent === null)
          walked += link(last, reference, MAX_WALKED - walked)
        last = reference
        if (seen + walked < nextBreath) continue
        nextBreath = seen + walked + STEP
        await slicer.breathe()
      }
      unlink(message)
      if (last !== null) walked += link(last, message, MAX_WALKED - walked)
    }
  }
  return messages
}

/**
 * @param {MessageRecord} record
 * @returns {readonly string[]}
 */
function referencesOf({ references = [], inReplyTo }) {
  if (references.length > 0) return references
  return inReplyTo == null ? [] : [inReplyTo]
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
  // Who has no children is nobody's ancestor: so it is for nearly every message, and no way up need be walked.
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
 * under one dummy, unless it has a single child.
 *
 * @param {readonly Container[]} messages
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} the heads of threads
 */
async function pruneDummies(messages, slicer) {
  /** @type {Map<Container, Container>} the message or topmost dummy that a dummy's children come to */
  const heirs = new Map()
  const heads = new Set()
  for (const [nth, message] of messages.entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    if (message.parent === null) heads.add(message)
    else {
      const parent = heirOf(message.parent, heirs)
      parent.children.push(message)
      if (parent.isDummy) heads.add(parent)
    }
  }
  return [...heads].map((head) =>
    head.isDummy && head.children.length === 1 ? head.children[0] : head
  )
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
 * Steps 4 and 6 for the heads of threads. The children of dummies are sorted too: the first stands for its dummy.
 *
 * @param {readonly Container[]} heads
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>}
 */
async function sortByDate(heads, slicer) {
  for (const head of heads)
    if (head.isDummy) head.children = await sortSiblings(head.children, slicer)
  return await sortSiblings(heads, slicer)
}

/**
 * @param {readonly Container[]} siblings
 * @param {Slicer} slicer
 * @returns {Promise<Container[]>} by sent date, then in the order of the mailbox
 */
async function sortSiblings(siblings, slicer) {
  return await sortInSlices(
    siblings,
    (left, right) => {
      const a = leaderOf(left)
      const b = leaderOf(right)
      return a.date - b.date || a.slot - b.slot
    },
    slicer
  )
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
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    const { subject } = leaderOf(head)
    if (subject !== '') counts.set(subject, (counts.get(subject) ?? 0) + 1)
  }
  /** @type {Container[]} */
  const asked = []
  for (const [nth, head] of heads.entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    if (!head.isDummy && (counts.get(head.subject) ?? 0) > 1) asked.push(head)
  }
  const wanted = await sortInSlices(asked, (left, right) => left.slot - right.slot, slicer)
  const slots = wanted.map(({ slot }) => slot)
  let next = 0
  for await (const page of readPages(source, slots, { envelope: true }, slicer)) {
    for (const { slot, record } of page) {
      if (slicer.isSpent) await slicer.breathe()
      while ((slots[next] ?? slot) < slot) next++
      const head = wanted[next]
      if (head?.slot === slot && record.envelope)
        head.isReply = isReplyOrForward(envelopeSubject(record.envelope))
    }
  }
}
