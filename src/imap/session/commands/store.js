/**
 * STORE and UID STORE change flags. Each message that is named is answered with its flags, unless .SILENT; where
 * CONDSTORE is on, with its MODSEQ in any case. With UNCHANGEDSINCE, messages that have changed since are left alone,
 * named in MODIFIED, and told as they are. Messages that another session has expunged are left out.
 *
 * State: selected, read-write.
 * Command: RFC 3501 §6.4.6, RFC 9051 §6.4.6, §6.4.9; RFC 7162 §3.1.3 (UNCHANGEDSINCE), §3.1.3 (MODIFIED).
 * Response: RFC 3501 §7.4.2; RFC 5530 §3 (EXPUNGEISSUED).
 */
import { CODE, modified } from '../../protocol/compile/response-code.js'
import { tellFlags } from '../mailbox-news.js'
import { uidsOf } from '../message-set.js'
import { SELECTED } from '../states.js'

/** @import { Command, CommandResult } from '../dispatcher.js' */
/** @import { SelectedMailbox } from '../selected-mailbox.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['STORE']} StoreArgs */

/** @type {Command} */
export const store = {
  name: 'STORE',
  states: SELECTED,
  allowsExpunge: false,
  mayLag: true,
  run: storeFlags
}

/** @type {Command} */
export const uidStore = {
  name: 'UID STORE',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  run: storeFlags
}

/**
 * @param {Session} session
 * @param {StoreArgs} args
 * @returns {Promise<CommandResult>}
 */
async function storeFlags(session, { isUid, set, action, isSilent, flags, unchangedSince }) {
  const name = isUid ? 'UID STORE' : 'STORE'
  const selected = session.requireWritable()
  if (unchangedSince !== null) session.enableCondstore()
  const { slots, uids, isSomeExpunged } = uidsOf(selected, set, isUid)
  if (slots.length === 0) return completed(name, isSomeExpunged)
  const { view } = selected
  const before = view.highestModSeq
  const change = { view, uids, action, flags, unchangedSince, origin: session.origin }
  const changing = session.whileWorking(() => session.store.changeFlags(change))
  const { failedUids } = await changing.catch(async (error) => {
    // Some pages of it are done, and what a session did itself is news to nobody but others.
    const done = slots.filter((slot) => {
      return /** @type {number} */ (view.modSeqs[slot]) > before && !view.isExpunged(slot)
    })
    await tellFlags(session, done, newsOf(session, { isUid, withFlags: true }))
    throw error
  })
  const failed = new Set(failedUids)
  if (!isSilent || session.isCondstore) {
    const done = slots.filter((slot, index) => {
      return !failed.has(/** @type {number} */ (uids[index])) && !view.isExpunged(slot)
    })
    await tellFlags(session, done, newsOf(session, { isUid, withFlags: !isSilent }))
  }
  // Others may have expunged some while this was written.
  const isSomeGone = isSomeExpunged || slots.some((slot) => view.isExpunged(slot))
  if (failed.size === 0) return completed(name, isSomeGone)
  await tellFailed(session, failedUids, { isUid, unchangedSince: unchangedSince ?? 0 })
  const numbers = isUid ? failedUids : sequencesOf(selected, failedUids)
  return {
    code: modified(numbers),
    text: 'Some messages have changed since and were left alone'
  }
}

/**
 * Tells what a client that was away cannot know: RFC 7162 §3.1.3 recommends it. What others have changed since its last
 * command is told as news.
 *
 * @param {Session} session
 * @param {readonly number[]} uids - of messages that have changed since
 * @param {{ isUid: boolean, unchangedSince: number }} command
 */
async function tellFailed(session, uids, { isUid, unchangedSince }) {
  const { view, toldModSeq } = session.requireSelected()
  const known = uids
    .map((uid) => view.slotOf(uid))
    .filter((slot) => {
      const modSeq = /** @type {number} */ (view.modSeqs[slot])
      return modSeq > unchangedSince && modSeq <= toldModSeq && !view.isExpunged(slot)
    })
  await tellFlags(session, known, newsOf(session, { isUid, withFlags: true }))
}

/**
 * @param {Session} session
 * @param {{ isUid: boolean, withFlags: boolean }} wanted
 */
function newsOf({ isCondstore }, { isUid, withFlags }) {
  // RFC 7162 §3.2.4
  return { withUid: isUid || isCondstore, withFlags, withModSeq: isCondstore }
}

/**
 * @param {SelectedMailbox} selected
 * @param {readonly number[]} uids - ascending
 * @returns {number[]}
 */
function sequencesOf(selected, uids) {
  return uids.map((uid) => selected.sequenceOfSlot(selected.view.slotOf(uid)))
}

/**
 * @param {string} name
 * @param {boolean} isSomeExpunged
 * @returns {CommandResult}
 */
function completed(name, isSomeExpunged) {
  if (!isSomeExpunged) return { text: `${name} completed` }
  return { code: CODE.expungeIssued, text: 'Some messages were expunged meanwhile' }
}
