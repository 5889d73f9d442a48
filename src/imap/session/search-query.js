/**
 * From a client's search key to messages of the selected mailbox, for every command that takes one. Parts of the key that
 * only the session or the account can resolve are replaced first: `$` (RFC 5182 §2.1) by the UIDs that were saved, EMAILID
 * and THREADID (RFC 8474 §5) by those of the messages that have it.
 */
import { searchMessages } from '../../store/search/evaluate.js'
import { Slicer } from '../../support/slicer.js'
import { SequenceSet } from '../protocol/values/sequence-set.js'
import { findThreads } from './find-threads.js'
import { contentIdOf, mayBeThreadId } from './object-id.js'

/** @import { MailboxView } from '../../store/mailbox-view.js' */
/** @import { SearchKey } from '../protocol/values/search-key.js' */
/** @import { Session } from './session.js' */

/**
 * @typedef {object} Resolution - of one search
 * @property {Session} session
 * @property {Map<string, SearchKey>} known - what `$` and ids stand for, once each: there may be thousands of either in a
 *   search, and each may stand for all messages
 * @property {Slicer} slicer
 */

/**
 * A key that matches no message.
 *
 * @type {SearchKey}
 */
const NO_MESSAGES = { op: 'not', key: { op: 'all' } }

/**
 * @param {Session} session - with a selected mailbox, which the caller holds
 * @param {SearchKey} key
 * @returns {Promise<number[]>} slots of the messages found that are still there, ascending
 */
export async function findMessages(session, key) {
  const selected = session.requireSelected()
  const { view } = selected
  const signal = session.connection.closeSignal
  const slicer = new Slicer(signal)
  const known = await threadKeys(session, key, slicer)
  const resolved = await resolveKey(key, { session, known, slicer })
  const found = await session.whileWorking(() =>
    searchMessages({
      store: session.store,
      view,
      key: resolved,
      selected,
      clock: session.context.clock,
      signal
    })
  )
  return stillThere(view, found)
}

/**
 * @param {MailboxView} view
 * @param {number[]} slots
 * @returns {number[]} without those that have been expunged
 */
export function stillThere(view, slots) {
  return view.hasTombstones ? slots.filter((slot) => !view.isExpunged(slot)) : slots
}

/**
 * @param {SearchKey} key
 * @returns {boolean} whether MODSEQ is among the keys, which enables CONDSTORE (RFC 7162 §3.1)
 */
export function hasModSeq(key) {
  return partsOf(key).some(({ op }) => op === 'modseq')
}

/**
 * @param {SearchKey} key - of a UID command
 * @returns {boolean} whether message numbers are among the keys: until it is answered, none may change (RFC 7162 §3.2.10.2)
 */
export function hasMessageNumbers(key) {
  return partsOf(key).some((each) => each.op === 'sequence' && !each.set.isSearchResult)
}

/**
 * @param {SearchKey} key
 * @returns {SearchKey[]} what it is made of, in any order: keys that are made of no others
 */
function partsOf(key) {
  const parts = []
  const open = [key]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.op === 'and') for (const each of next.keys) open.push(each)
    else if (next.op === 'or') open.push(next.left, next.right)
    else if (next.op === 'not') open.push(next.key)
    else parts.push(next)
  }
  return parts
}

/**
 * @param {SearchKey} key
 * @param {Resolution} resolution
 * @returns {Promise<SearchKey>} the same search in words that the store knows
 */
async function resolveKey(key, resolution) {
  switch (key.op) {
    case 'and': {
      const keys = []
      for (const each of key.keys) keys.push(await resolveKey(each, resolution))
      return { op: 'and', keys }
    }
    case 'or':
      return {
        op: 'or',
        left: await resolveKey(key.left, resolution),
        right: await resolveKey(key.right, resolution)
      }
    case 'not':
      return { op: 'not', key: await resolveKey(key.key, resolution) }
    case 'sequence':
    case 'uid':
      return key.set.isSearchResult ? savedKey(resolution) : key
    case 'emailId':
      return await idKey(key.id, resolution)
    case 'threadId':
      return resolution.known.get(key.id) ?? NO_MESSAGES
    default:
      return key
  }
}

/**
 * @param {Resolution} resolution
 * @returns {SearchKey} the messages that `$` stands for
 */
function savedKey({ session, known }) {
  const before = known.get('$')
  if (before) return before
  const { ranges } = session.requireSelected().savedResult
  /** @type {SearchKey} */
  const key = { op: 'uid', set: new SequenceSet(ranges) }
  known.set('$', key)
  return key
}

/**
 * @param {string} id - EMAILID
 * @param {Resolution} resolution
 * @returns {Promise<SearchKey>} the messages that have it
 */
async function idKey(id, { session, known, slicer }) {
  const before = known.get(id)
  if (before) return before
  const contentId = contentIdOf(id)
  if (contentId === null) return NO_MESSAGES
  await slicer.breathe()
  const { mailboxId } = session.requireSelected().view
  const uids = await session.store.findByContent(mailboxId, contentId)
  /** @type {SearchKey} */
  const key = { op: 'uid', set: SequenceSet.fromNumbers(uids) }
  known.set(id, key)
  return key
}

/**
 * @param {Session} session
 * @param {SearchKey} key
 * @param {Slicer} slicer
 * @returns {Promise<Map<string, SearchKey>>} the messages of each THREADID in it that some have: of all together in one pass,
 *   because there is no table of them
 */
async function threadKeys(session, key, slicer) {
  /** @type {Set<string>} */
  const wanted = new Set()
  for (const each of partsOf(key))
    if (each.op === 'threadId' && mayBeThreadId(each.id)) wanted.add(each.id)
  if (wanted.size === 0) return new Map()
  const uids = await session.whileWorking(() => findThreads(session, wanted, slicer))
  return new Map(
    Array.from(uids, ([id, found]) => [id, { op: 'uid', set: SequenceSet.fromNumbers(found) }])
  )
}
