/**
 * STORE and UID STORE change flags. Each message that is named is answered with its flags, unless .SILENT; where
 * CONDSTORE is on, with its MODSEQ in any case. With UNCHANGEDSINCE, messages that have changed since are left alone,
 * named in MODIFIED, and told as they are. Messages that another session has expunged are left out.
 *
 * State: selected, read-write.
 * Command: RFC 3501 §6.4.6, RFC 9051 §6.4.6, §6.4.9; RFC 7162 §3.1.3 (UNCHANGEDSINCE, MODIFIED).
 * Response: RFC 3501 §7.4.2; RFC 5530 §3 (EXPUNGEISSUED).
 */
import { FLAG_PAGE } from '../../../store/flag-queue.js'
import { filterInSlices, Slicer } from '../../../support/slicer.js'
import { CODE, modified } from '../../protocol/compile/response-code.js'
import { compileLongSet } from '../long-answer.js'
import { tellFlags } from '../mailbox-news.js'
import { uidsOf } from '../message-set.js'
import { SELECTED } from '../states.js'

/** @import { FlagOutcome } from '../../../store/change-flags.js' */
/** @import { Command, CommandResult, LateResult } from '../dispatcher.js' */
/** @import { SelectedMailbox } from '../selected-mailbox.js' */
/** @import { Session } from '../session.js' */

/** So many slots are visited between two looks at the clock. */
const STEP_SLOTS = 1024

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['STORE']} StoreArgs */

/** @type {Command} */
export const store = {
  name: 'STORE',
  states: SELECTED,
  allowsExpunge: false,
  mayLag: true,
  isOverlapping: true,
  run: storeFlags
}

/** @type {Command} */
export const uidStore = {
  name: 'UID STORE',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  isOverlapping: true,
  run: storeFlags
}

/**
 * @param {Session} session
 * @param {StoreArgs} args
 * @returns {Promise<CommandResult | LateResult>}
 */
async function storeFlags(session, args) {
  const { isUid, set, action, flags, unchangedSince } = args
  const selected = session.requireWritable()
  if (unchangedSince !== null) {
    // It is told at once that CONDSTORE is on, so the replies to the commands before must go out first.
    await session.replies.settle()
    session.enableCondstore()
  }
  const slicer = new Slicer()
  const { slots, uids, isSomeExpunged } = await uidsOf(selected, set, isUid, slicer)
  if (slots.length === 0) return completed(args, isSomeExpunged)
  const { view } = selected
  const change = { view, uids, action, flags, unchangedSince, origin: session.origin }
  const work = () => session.whileWorking(() => session.store.changeFlags(change))
  if (uids.length > FLAG_PAGE || unchangedSince !== null) {
    await session.replies.settle()
    if (slicer.isSpent) await slicer.breathe()
    return storeAlone(session, work, { slots, uids, args, isSomeExpunged, slicer })
  }
  await waitForEarlierChanges(session, uids)
  return {
    later: work(),
    heldBytes: uids.length * Float64Array.BYTES_PER_ELEMENT,
    finish: ({ modSeq }) => tellStored(session, uids, { args, modSeq, isSomeExpunged })
  }
}

/**
 * Waits while earlier commands change any of these messages: each command is answered by what it has done itself.
 *
 * @param {Session} session
 * @param {readonly number[]} uids - of messages that are about to be changed
 */
async function waitForEarlierChanges(session, uids) {
  const { replies } = session
  const { storedUids } = session.requireSelected()
  if (storedUids.size > FLAG_PAGE || uids.some((uid) => storedUids.has(uid))) await replies.settle()
  if (replies.isIdle) storedUids.clear()
  for (const uid of uids) storedUids.add(uid)
}

/**
 * @param {Session} session
 * @param {readonly number[]} uids - whose flags are as they were asked for
 * @param {{ args: StoreArgs, modSeq: number, isSomeExpunged: boolean }} command - `modSeq`: the mailbox's after it
 * @returns {Promise<CommandResult>}
 */
async function tellStored(session, uids, { args, modSeq, isSomeExpunged }) {
  const selected = session.requireSelected()
  // Slots may have been numbered anew since the command came.
  selected.hold()
  try {
    const { view } = selected
    const slots = uids.map((uid) => view.slotOf(uid))
    const there = slots.filter((slot) => slot >= 0 && !view.isExpunged(slot))
    await tellDone(session, there, args)
    // Others have changed these since, and an earlier reply may have told it. To a client that works out the flags it has stored
    // by itself (.SILENT) that seemed older than its own change, so it is told again.
    const isChanged = (/** @type {number} */ slot) => (view.modSeqs[slot] ?? 0) > modSeq
    const changed = args.isSilent ? there.filter(isChanged) : []
    await tellFlags(session, changed, newsOf(session, { isUid: args.isUid, withFlags: true }))
    // Others may have expunged some while this was written.
    return completed(args, isSomeExpunged || there.length < uids.length)
  } finally {
    selected.unhold()
  }
}

/**
 * Changes more messages than one transaction takes, or only unchanged ones (UNCHANGEDSINCE): no other command runs meanwhile.
 *
 * @param {Session} session
 * @param {() => Promise<FlagOutcome>} work
 * @param {{ slots: ReadonlyArray<number>, uids: ReadonlyArray<number>, args: StoreArgs, isSomeExpunged: boolean, slicer: Slicer }} command
 * @returns {Promise<CommandResult>}
 */
async function storeAlone(session, work, { slots, uids, args, isSomeExpunged, slicer }) {
  const { isUid, unchangedSince } = args
  const selected = session.requireSelected()
  const { view } = selected
  const before = view.highestModSeq
  const { failedUids } = await work().catch(async (error) => {
    // Some pages of the command are done, and a session is not told its own changes as news.
    const isDone = (/** @type {number} */ slot) =>
      /** @type {number} */ (view.modSeqs[slot]) > before && !view.isExpunged(slot)
    const done = await filterInSlices(slots, isDone, slicer)
    await tellFlags(session, done, newsOf(session, { isUid, withFlags: true }))
    throw error
  })
  if (slicer.isSpent) await slicer.breathe()
  const { done, failed } = await partFailed(slots, uids, failedUids, slicer)
  const there = await filterInSlices(done, (slot) => !view.isExpunged(slot), slicer)
  await tellDone(session, there, args)
  const isSomeGone =
    isSomeExpunged || (view.hasTombstones && slots.some((slot) => view.isExpunged(slot)))
  if (failed.length === 0) return completed(args, isSomeGone)
  await tellFailed(session, failed, { isUid, unchangedSince: unchangedSince ?? 0 }, slicer)
  const numbers = isUid ? failedUids : await sequencesOf(selected, failed, slicer)
  return {
    code: modified(await compileLongSet(numbers, slicer)),
    text: 'Some messages have changed since and were left alone'
  }
}

/**
 * @param {SelectedMailbox} selected
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} their sequence numbers
 */
async function sequencesOf(selected, slots, slicer) {
  const numbers = new Uint32Array(slots.length)
  for (const [index, slot] of slots.entries()) {
    if (index % STEP_SLOTS === 0 && slicer.isSpent) await slicer.breathe()
    numbers[index] = selected.sequenceOfSlot(slot)
  }
  return numbers
}

/**
 * @param {Session} session
 * @param {readonly number[]} slots - of messages that are there
 * @param {StoreArgs} args
 */
async function tellDone(session, slots, { isUid, isSilent }) {
  if (isSilent && !session.enabled.isCondstore) return
  await tellFlags(session, slots, newsOf(session, { isUid, withFlags: !isSilent }))
}

/**
 * @param {readonly number[]} slots
 * @param {readonly number[]} uids - of these slots, ascending
 * @param {readonly number[]} failedUids - some of them, ascending
 * @param {Slicer} slicer
 * @returns {Promise<{ done: ReadonlyArray<number>, failed: ReadonlyArray<number> }>} slots
 */
async function partFailed(slots, uids, failedUids, slicer) {
  if (failedUids.length === 0) return { done: slots, failed: [] }
  /** @type {number[]} */
  const failed = []
  const isDone = (/** @type {number} */ slot, /** @type {number} */ index) => {
    if (uids[index] !== failedUids[failed.length]) return true
    failed.push(slot)
    return false
  }
  return { done: await filterInSlices(slots, isDone, slicer), failed }
}

/**
 * Tells what a client that was away cannot know: RFC 7162 §3.1.3 recommends it. Changes that others have made since the
 * client's last command are told as news.
 *
 * @param {Session} session
 * @param {readonly number[]} slots - of messages that have changed since
 * @param {{ isUid: boolean, unchangedSince: number }} command
 * @param {Slicer} slicer
 */
async function tellFailed(session, slots, { isUid, unchangedSince }, slicer) {
  const { view, toldModSeq } = session.requireSelected()
  const isKnown = (/** @type {number} */ slot) => {
    const modSeq = /** @type {number} */ (view.modSeqs[slot])
    return modSeq > unchangedSince && modSeq <= toldModSeq && !view.isExpunged(slot)
  }
  const known = await filterInSlices(slots, isKnown, slicer)
  await tellFlags(session, known, newsOf(session, { isUid, withFlags: true }))
}

/**
 * @param {Session} session
 * @param {{ isUid: boolean, withFlags: boolean }} wanted
 */
function newsOf({ enabled }, { isUid, withFlags }) {
  const { isCondstore, tellsUids } = enabled
  return { withUid: isUid || tellsUids, withFlags, withModSeq: isCondstore }
}

/**
 * @param {StoreArgs} args
 * @param {boolean} isSomeExpunged
 * @returns {CommandResult}
 */
function completed({ isUid }, isSomeExpunged) {
  if (!isSomeExpunged) return { text: `${isUid ? 'UID STORE' : 'STORE'} completed` }
  return { code: CODE.expungeIssued, text: 'Some messages were expunged meanwhile' }
}
