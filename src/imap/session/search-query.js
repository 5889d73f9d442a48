/**
 * From a client's search key to messages of the selected mailbox, for every command that takes one. What only the
 * session or the account knows is put into the key first: `$` (RFC 5182 §2.1) becomes the UIDs that were saved.
 */
import { searchMessages } from '../../store/search/evaluate.js'
import { SequenceSet } from '../protocol/values/sequence-set.js'

/** @import { SearchKey } from '../protocol/values/search-key.js' */
/** @import { SelectedMailbox } from './selected-mailbox.js' */
/** @import { Session } from './session.js' */

/**
 * @param {Session} session - with a selected mailbox, which the caller holds
 * @param {SearchKey} key
 * @returns {Promise<number[]>} slots of the messages found that are still there, ascending
 */
export async function findMessages(session, key) {
  const selected = session.requireSelected()
  const { view } = selected
  const found = await searchMessages({
    store: session.store,
    view,
    key: await resolveKey(key, selected),
    selected,
    clock: session.context.clock,
    signal: session.connection.closeSignal
  })
  return found.filter((slot) => !view.isExpunged(slot))
}

/**
 * @param {SearchKey} key
 * @returns {boolean} whether MODSEQ is among the keys, which enables CONDSTORE (RFC 7162 §3.1)
 */
export function hasModSeq(key) {
  switch (key.op) {
    case 'and':
      return key.keys.some(hasModSeq)
    case 'or':
      return hasModSeq(key.left) || hasModSeq(key.right)
    case 'not':
      return hasModSeq(key.key)
    default:
      return key.op === 'modseq'
  }
}

/**
 * @param {SearchKey} key
 * @param {SelectedMailbox} selected
 * @returns {Promise<SearchKey>} the same search in words that the store knows
 */
async function resolveKey(key, selected) {
  switch (key.op) {
    case 'and': {
      const keys = []
      for (const each of key.keys) keys.push(await resolveKey(each, selected))
      return { op: 'and', keys }
    }
    case 'or':
      return {
        op: 'or',
        left: await resolveKey(key.left, selected),
        right: await resolveKey(key.right, selected)
      }
    case 'not':
      return { op: 'not', key: await resolveKey(key.key, selected) }
    case 'sequence':
    case 'uid':
      if (!key.set.isSearchResult) return key
      return { op: 'uid', set: new SequenceSet(selected.savedResult.ranges) }
    default:
      return key
  }
}
