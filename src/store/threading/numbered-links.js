/**
 * The links of messages as numbers: as they are kept with the view, or from what is stored of the messages.
 */
import { rankColumn, keepNumber } from '../sort/sort-columns.js'
import { TextCollector } from '../sort/text-ranks.js'
import { KeptLinks } from './kept-links.js'
import { LinkList } from './link-list.js'
import { readLinks } from './read-links.js'

/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { Links } from './read-links.js' */

/**
 * At most so many identifiers without a message are kept, beside two for each message. Each takes 300 bytes, and few messages
 * can name very many. Threads that have only further identifiers in common are not seen to belong together.
 */
const MAX_ABSENT = 100_000

/** The links of at most so many new messages are added to those that are kept: looking up one's identifiers takes 1 ms. */
const MAX_ADDED = 64

/** Messages a page, of what is kept. */
const PAGE_MESSAGES = 1024

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {AsyncGenerator<LinkList, void, void>} pages by slot in the order of the slots, each good until the next one is asked
 *   for; messages that have gone meanwhile are left out
 */
export async function* numberedLinks(source, slots, slicer) {
  const kept = await completeKept(source, slots, slicer)
  if (kept === null) yield* makeLinks(source, slots, slicer)
  else yield* kept.linksOf(source.view, slots, PAGE_MESSAGES)
}

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots
 * @param {Slicer} slicer
 * @returns {AsyncGenerator<LinkList, void, void>}
 */
async function* makeLinks(source, slots, slicer) {
  const { view } = source
  const made = new KeptLinks()
  /** @type {Map<string, number>} */
  const numbers = new Map()
  const room = MAX_ABSENT + 2 * slots.length
  const addId = (/** @type {string} */ id, /** @type {number} */ uid) => {
    const number = made.addId(id, uid)
    numbers.set(id, number)
    return number
  }
  // The links of a part of the mailbox are of no use to whoever asks for all.
  const isKept = slots.length * 2 >= view.aliveCount
  const needsSubjects = isKept && !view.sortColumns.has('SUBJECT')
  const subjects = needsSubjects ? new TextCollector('SUBJECT', view) : null
  const links = new LinkList()
  for await (const page of readLinks(source, slots, slicer)) {
    links.clear()
    for (const message of page) {
      if (slicer.isSpent) await slicer.breathe()
      const { slot, messageId, sentAt, baseSubject } = message
      const uid = view.uids[slot] ?? 0
      const own = messageId === null ? 0 : (numbers.get(messageId) ?? addId(messageId, uid))
      const references = referencesOf(message)
        .map((id) => numbers.get(id) ?? (numbers.size < room ? addId(id, uid) : 0))
        .filter((number) => number > 0)
      made.add(uid, own, references)
      links.add(slot, own, references)
      keepNumber(view, 'DATE', slot, sentAt)
      subjects?.add(slot, baseSubject)
    }
    yield links
  }
  if (subjects) await rankColumn(source, 'SUBJECT', slots, slicer, subjects)
  if (isKept && !made.isTooMuch) view.threadLinks = made
}

/**
 * @param {Links} links
 * @returns {readonly string[]}
 */
function referencesOf({ references, inReplyTo }) {
  if (references.length > 0) return references
  return inReplyTo === null ? [] : [inReplyTo]
}

/**
 * Adds new messages to what is kept.
 *
 * @param {MessageSource} source
 * @param {readonly number[]} slots
 * @param {Slicer} slicer
 * @returns {Promise<KeptLinks | null>} the links of all of these, and of others; null when they must be read
 */
async function completeKept(source, slots, slicer) {
  const { view } = source
  const kept = view.threadLinks
  // Most messages of `kept` have gone, or are not asked for.
  if (kept === null || kept.count > 2 * slots.length + PAGE_MESSAGES) return null
  // Before the first wait, in which another request may add some.
  const { lastUid } = kept
  const missing = await kept.missing(view, slots, slicer)
  if (missing.length === 0) return kept
  if (missing.length > MAX_ADDED || (view.uids[missing[0] ?? 0] ?? 0) <= lastUid) return null
  const added = await readAll(source, missing, slicer)
  const ids = new Set(added.flatMap((each) => [each.messageId ?? [], ...referencesOf(each)].flat()))
  const numbers = await findNumbers(source, kept, ids, slicer)
  if (numbers === null) return null
  // Another request has added some meanwhile.
  if (view.threadLinks !== kept || kept.lastUid !== lastUid)
    return await completeKept(source, slots, slicer)
  for (const message of added) {
    const uid = view.uids[message.slot] ?? 0
    const numberOf = (/** @type {string} */ id) => {
      const number = numbers.get(id) ?? kept.addId(id, uid)
      numbers.set(id, number)
      return number
    }
    const own = message.messageId === null ? 0 : numberOf(message.messageId)
    kept.add(uid, own, referencesOf(message).map(numberOf))
  }
  if (!kept.isTooMuch) return kept
  view.threadLinks = null
  return null
}

/**
 * @param {MessageSource} source
 * @param {KeptLinks} kept
 * @param {ReadonlySet<string>} ids
 * @param {Slicer} slicer
 * @returns {Promise<Map<string, number> | null>} numbers of those that have one; null: nobody can tell, because messages that
 *   name them have gone
 */
async function findNumbers(source, kept, ids, slicer) {
  const { view } = source
  /** @type {Map<string, number>} */
  const numbers = new Map()
  for (const id of ids) {
    await slicer.breathe()
    const alike = kept.numbersLike(id)
    if (alike === null) return null
    for (const { number, uid } of alike) {
      const slot = view.slotOf(uid)
      const [links] = slot < 0 ? [] : await readAll(source, [slot], slicer)
      if (links === undefined) return null
      if (links.messageId === id || referencesOf(links).includes(id)) numbers.set(id, number)
    }
  }
  return numbers
}

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending, few
 * @param {Slicer} slicer
 * @returns {Promise<Links[]>} in the order of the slots
 */
async function readAll(source, slots, slicer) {
  const all = []
  for await (const page of readLinks(source, slots, slicer)) all.push(...page)
  return all
}
