/**
 * From a client's search key to messages of the selected mailbox, for every command that takes one. What only the
 * session or the account knows is put into the key first: `$` (RFC 5182 §2.1) becomes the UIDs that were saved, EMAILID
 * (RFC 8474 §5) those of the messages that have it.
 */
import { searchMessages } from '../../store/search/evaluate.js'
import { SequenceSet } from '../protocol/values/sequence-set.js'
import { contentIdOf } from './object-id.js'

/** @import { MailboxView } from '../../store/mailbox-view.js' */
/** @import { SearchKey } from '../protocol/values/search-key.js' */
/** @import { Session } from './session.js' */

/**
 * Matches no message.
 *
 * @type {SearchKey}
 */
const NOTHING = { op: 'not', key: { op: 'all' } }

/**
 * @param {Session} session - with a selected mailbox, which the caller holds
 * @param {SearchKey} key
 * @returns {Promise<number[]>} slots of the messages found that are still there, ascending
 */
export async function findMessages(session, key) {
  const selected = session.requireSelected()
  const { view } = selected
  const resolved = await resolveKey(key, session, new Map())
  const found = await session.whileWorking(() =>
    searchMessages({
      store: session.store,
      view,
      key: resolved,
      selected,
      clock: session.context.clock,
      signal: session.connection.closeSignal
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
  return hasKey(key, ({ op }) => op === 'modseq')
}

/**
 * @param {SearchKey} key - of a UID command
 * @returns {boolean} whether message numbers are among the keys: until it is answered, none may change (RFC 7162 §3.2.10.2)
 */
export function hasMessageNumbers(key) {
  return hasKey(key, (each) => each.op === 'sequence' && !each.set.isSearchResult)
}

/**
 * @param {SearchKey} key
 * @param {(key: SearchKey) => boolean} isWanted
 * @returns {boolean} whether it, or any that it is made of, is such a one
 */
function hasKey(key, isWanted) {
  switch (key.op) {
    case 'and':
      return key.keys.some((each) => hasKey(each, isWanted))
    case 'or':
      return hasKey(key.left, isWanted) || hasKey(key.right, isWanted)
    case 'not':
      return hasKey(key.key, isWanted)
    default:
      return isWanted(key)
  }
}

/**
 * @param {SearchKey} key
 * @param {Session} session
 * @param {Map<string, SearchKey>} known - what `$` and ids stand for, once each: there may be thousands of either in a search,
 *   and each may stand for all messages
 * @returns {Promise<SearchKey>} the same search in words that the store knows
 */
async function resolveKey(key, session, known) {
  switch (key.op) {
    case 'and': {
      const keys = []
      for (const each of key.keys) keys.push(await resolveKey(each, session, known))
      return { op: 'and', keys }
    }
    case 'or':
      return {
        op: 'or',
        left: await resolveKey(key.left, session, known),
        right: await resolveKey(key.right, session, known)
      }
    case 'not':
      return { op: 'not', key: await resolveKey(key.key, session, known) }
    case 'sequence':
    case 'uid':
      return key.set.isSearchResult ? savedKey(session, known) : key
    case 'emailId':
      return await idKey(key.id, session, known)
    case 'threadId':
      return NOTHING
    default:
      return key
  }
}

/**
 * @param {Session} session
 * @param {Map<string, SearchKey>} known
 * @returns {SearchKey} the messages that `$` stands for
 */
function savedKey(session, known) {
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
 * @param {Session} session
 * @param {Map<string, SearchKey>} known
 * @returns {Promise<SearchKey>} the messages that have it
 */
async function idKey(id, session, known) {
  const before = known.get(id)
  if (before) return before
  const contentId = contentIdOf(id)
  if (contentId === null) return NOTHING
  const { mailboxId } = session.requireSelected().view
  const uids = await session.store.findByContent(mailboxId, contentId)
  /** @type {SearchKey} */
  const key = { op: 'uid', set: SequenceSet.fromNumbers(uids) }
  known.set(id, key)
  return key
}
