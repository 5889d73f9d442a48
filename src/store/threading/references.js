/**
 * THREAD=REFERENCES, RFC 5256 §3: threads by Message-ID and References, and by subject where these say nothing. The
 * steps are numbered as there.
 */
import { Uint32List } from '../../support/uint32-list.js'
import { sortByKey } from '../sort/radix-sort.js'
import { numberColumn, rankColumn } from '../sort/sort-columns.js'
import { EMPTY_RANK } from '../sort/text-ranks.js'
import { NONE } from './containers.js'
import { knownReplies } from './known-replies.js'
import { linkMessages } from './link-messages.js'
import { gatherBySubject, groupBySubject } from './subject-gathering.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { Containers } from './containers.js' */
/** @import { LinkedMessages } from './link-messages.js' */
/** @import { Threads } from './thread-messages.js' */

/** Messages or threads between two looks at the clock: below a millisecond. */
const STEP_ITEMS = 4096

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<Threads>}
 */
export async function threadByReferences(source, slots, slicer) {
  const linked = await linkMessages(source, slots, slicer)
  const { containers } = linked
  const dates = await numberColumn(source, 'DATE', slots, slicer)
  const subjects = await rankColumn(source, 'SUBJECT', slots, slicer)
  const byDate = await sortByDate(linked, dates, slicer)
  const heads = await pruneDummies(byDate, containers, slicer)
  // 0: it has gone since its links were read, and so may others have, of any subject.
  const subjectOf = (/** @type {number} */ head) =>
    subjects[containers.slotOf(containers.leaderOf(head))] || EMPTY_RANK
  const groups = await groupBySubject(heads, subjectOf, containers.end, slicer)
  const isReply = await findReplies(source, linked, groups.heads, slicer)
  const gathered = await gatherBySubject(heads, { groups, containers, isReply, byDate }, slicer)
  return { heads: await sortHeads(gathered, containers, byDate, slicer), containers }
}

/**
 * @param {LinkedMessages} linked
 * @param {Readonly<Float64Array>} dates - by slot
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} messages by sent date, then in the order of their slots
 */
async function sortByDate({ containers, messages }, dates, slicer) {
  const keys = new Float64Array(containers.end)
  for (let nth = 0; nth < messages.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const message = /** @type {number} */ (messages[nth])
    keys[message] = dates[containers.slotOf(message)] ?? 0
  }
  return await sortByKey(messages.slice(), keys, false, slicer)
}

/**
 * Steps 2 and 3. A dummy's children become those of the nearest message above. Where there is none, they stay together
 * under one dummy, unless it has a single child. All children, and with that step 4, are by date as the messages are.
 *
 * @param {Uint32Array} messages - by date
 * @param {Containers} containers
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} the heads of threads, by date
 */
async function pruneDummies(messages, containers, slicer) {
  /** By dummy: the message or topmost dummy that its children come to; `NONE` as long as nobody has asked. */
  const heirs = new Uint32Array(containers.end)
  const heads = new Uint32List(messages.length)
  for (let nth = 0; nth < messages.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const message = /** @type {number} */ (messages[nth])
    const parent = containers.parentOf(message)
    if (parent === NONE) {
      heads.push(message)
      continue
    }
    const heir = heirOf(parent, containers, heirs)
    const isFirst = containers.firstChildOf(heir) === NONE
    containers.addChild(heir, message)
    if (isFirst && containers.isDummy(heir)) heads.push(heir)
  }
  const pruned = heads.toArray()
  for (let nth = 0; nth < pruned.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const head = /** @type {number} */ (pruned[nth])
    const only = containers.onlyChildOf(head)
    if (only !== NONE && containers.isDummy(head)) pruned[nth] = only
  }
  return pruned
}

/**
 * @param {number} start
 * @param {Containers} containers
 * @param {Uint32Array} heirs - remembers what was found
 * @returns {number}
 */
function heirOf(start, containers, heirs) {
  const above = (/** @type {number} */ dummy) => heirs[dummy] || containers.parentOf(dummy)
  let heir = start
  while (containers.isDummy(heir) && above(heir) !== NONE) heir = above(heir)
  for (let passed = start, next; passed !== heir; passed = next) {
    next = above(passed)
    heirs[passed] = heir
  }
  return heir
}

/**
 * What step 5 asks of messages at the head of a thread: whether their subject is that of a reply. Only where two
 * threads have one subject does it matter, and only there are the ENVELOPEs read.
 *
 * @param {MessageSource} source
 * @param {LinkedMessages} linked
 * @param {Uint32Array} heads
 * @param {Slicer} slicer
 * @returns {Promise<(head: number) => boolean>} for these; false for a dummy
 */
async function findReplies(source, { containers, messages }, heads, slicer) {
  const isAsked = new Uint8Array(containers.end)
  for (let nth = 0; nth < heads.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    isAsked[/** @type {number} */ (heads[nth])] = 1
  }
  /** @type {number[]} */
  const slots = []
  for (let nth = 0; nth < messages.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const message = /** @type {number} */ (messages[nth])
    if (isAsked[message]) slots.push(containers.slotOf(message))
  }
  const isReply = await knownReplies(source, slots, slicer)
  return (head) => isReply(containers.slotOf(head))
}

/**
 * Step 6 for the heads of threads.
 *
 * @param {Uint32Array} heads
 * @param {Containers} containers
 * @param {Uint32Array} byDate - all messages
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>}
 */
async function sortHeads(heads, containers, byDate, slicer) {
  /** By the message that stands for it. */
  const headOf = new Uint32Array(containers.end)
  for (let nth = 0; nth < heads.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const head = /** @type {number} */ (heads[nth])
    headOf[containers.leaderOf(head)] = head
  }
  const sorted = new Uint32List(heads.length)
  for (let nth = 0; nth < byDate.length; nth++) {
    if (nth % STEP_ITEMS === 0) await slicer.breathe()
    const head = /** @type {number} */ (headOf[/** @type {number} */ (byDate[nth])])
    if (head !== NONE) sorted.push(head)
  }
  return sorted.toArray()
}
