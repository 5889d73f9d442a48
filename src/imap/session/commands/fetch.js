/**
 * FETCH and UID FETCH read messages. Flags, UIDs and MODSEQs come from the shared view, everything else from the store
 * in pages; no cursor is open while the client is waited for. Reading a body without PEEK sets \Seen, which is told in
 * the same response.
 *
 * There are four ways to answer, of which fetch-plans.js finds the cheapest that covers all items:
 *
 *     items                                             way              file
 *     FLAGS, UID, MODSEQ …                              writeFromView    flag-lines.js: the view alone
 *     ENVELOPE, BODYSTRUCTURE, header, PREVIEW, EMAILID writePage        fetch-page.js: stored lists of up to 500 messages
 *     up to four sections with PEEK, date, size         writeBodies      fetch-body.js: short messages, nothing awaited
 *     anything else; messages without stored lists yet  writeRecord      record-item.js, fetch-sections.js: one by one
 *
 * Lists may not tell a header field that a message has; that one is read by writeBodies.
 *
 * State: selected.
 * Command: RFC 3501 §6.4.5, RFC 9051 §6.4.5; RFC 7162 §3.1.4 (CHANGEDSINCE, MODSEQ), RFC 9394 §3.3
 * (PARTIAL). Response: RFC 3501 §7.4.2;
 * RFC 5530 §3 (EXPUNGEISSUED).
 */
import { MailError } from '../../../errors.js'
import { areClose } from '../../../store/close-slots.js'
import { SEEN } from '../../../store/flags.js'
import { nextPageSize } from '../../../store/page-size.js'
import { Slicer } from '../../../support/slicer.js'
import { CODE } from '../../protocol/compile/response-code.js'
import { takePage } from '../../protocol/values/partial-range.js'
import { badSyntax } from '../../protocol/syntax-failure.js'
import { plansFor } from '../fetch-plans.js'
import { FetchResponse } from '../fetch-response.js'
import { tellFlags, tellKeywords } from '../mailbox-news.js'
import { slotsOf } from '../message-set.js'
import { tellVanished } from '../resynchronize.js'
import { SELECTED } from '../states.js'

/** @import { MessageRecord } from '../../../store/read-messages.js' */
/** @import { Command, CommandResult } from '../dispatcher.js' */
/** @import { PagePlan } from '../fetch-page.js' */
/** @import { FetchPlans } from '../fetch-plans.js' */
/** @import { SelectedMailbox } from '../selected-mailbox.js' */
/** @import { Session } from '../session.js' */

/** A page has so many messages where only the view or narrow rows are read: the store takes no more. */
const ROW_PAGE = 500
/** The first page has so many messages where headers or structures are read, which may be up to 256 KiB each. */
const FIRST_WIDE_PAGE = 25
/** So many messages or more make it worth while to unpack blocks of lists for all of a header. */
const MIN_LISTED = 8
/** @type {ReadonlySet<number>} */
const NOTHING_SEEN = new Set()

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['FETCH']} FetchArgs */

/** @type {Command} */
export const fetch = {
  name: 'FETCH',
  states: SELECTED,
  allowsExpunge: false,
  mayLag: true,
  run: fetchMessages
}

/** @type {Command} */
export const uidFetch = {
  name: 'UID FETCH',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  run: fetchMessages
}

/**
 * @param {Session} session
 * @param {FetchArgs} args
 * @returns {Promise<CommandResult>}
 */
async function fetchMessages(session, args) {
  const { isUid, set, changedSince, isVanished, page } = args
  // RFC 7162 §3.2.6
  if (isVanished && !session.enabled.isQresync) throw badSyntax('ENABLE QRESYNC comes first')
  const selected = session.requireSelected()
  const slicer = new Slicer()
  const plans = plansFor(args)
  const { plan } = plans
  if (plan.usesModSeq) session.enableCondstore()
  // RFC 9394 §3.4: a page is one of the whole set, whatever of it has changed.
  const { slots, isSomeExpunged } = slotsOf(selected, set, isUid, page ? null : changedSince)
  const wanted = page ? changedOf(selected, takePage(slots, page), changedSince) : slots
  if (isVanished && changedSince !== null)
    await tellVanished(session, { set, sinceModSeq: changedSince })
  tellKeywords(session)
  const response = new FetchResponse(session, plan, slicer)
  let gone
  try {
    gone = await writeMessages(session, plans, wanted, { response, slicer, isUid })
  } finally {
    // The gathered responses are whole, also where a later message cannot be answered.
    response.finish()
  }
  const name = isUid ? 'UID FETCH' : 'FETCH'
  if (!isSomeExpunged && !gone) return { text: `${name} completed` }
  return { code: CODE.expungeIssued, text: 'Some messages were expunged meanwhile' }
}

/**
 * @param {SelectedMailbox} selected
 * @param {number[]} slots
 * @param {number | null} changedSince
 * @returns {number[]} those whose MODSEQ is above it
 */
function changedOf({ view }, slots, changedSince) {
  if (changedSince === null) return slots
  return slots.filter((slot) => /** @type {number} */ (view.modSeqs[slot]) > changedSince)
}

/**
 * @param {Session} session
 * @param {FetchPlans} plans
 * @param {readonly number[]} slots
 * @param {{ response: FetchResponse, slicer: Slicer, isUid: boolean }} command - what is gathered in the response at the end
 *   is the caller's to hand over
 * @returns {Promise<boolean>} whether some were expunged before they were read
 */
async function writeMessages(
  session,
  { plan, pagePlan, bodyNeeds },
  slots,
  { response, slicer, isUid }
) {
  const selected = session.requireSelected()
  if (plan.isViewOnly) {
    await response.writeFromView(slots)
    return false
  }
  const pages = pagePlan && isForPages(selected, pagePlan, slots) ? pagePlan : null
  if (bodyNeeds !== null && pages === null) {
    await response.writeBodies(bodyNeeds, slots)
    return response.isSomeGone
  }
  const setsSeen = plan.setsSeen && !selected.isReadOnly
  let isSomeGone = false
  const firstPage = plan.isWide ? FIRST_WIDE_PAGE : ROW_PAGE
  let pageSize = firstPage
  // Messages to read one by one where a page is not ready: few at first, since those behind them may be. What a list does not
  // tell may be so of a single one.
  const firstCount = bodyNeeds === null ? firstPage : 1
  let recordCount = firstCount
  for (let start = 0; start < slots.length;) {
    const page = slots.slice(start, start + pageSize)
    const { view } = selected
    // Another session may have made a keyword since the page before.
    tellKeywords(session)
    const written = pages && (await response.writePage(pages, page))
    if (written) {
      start += written.slots
      recordCount = firstCount
      if (plan.isWide) pageSize = nextPageSize(pageSize, written.bytes, ROW_PAGE)
    } else if (bodyNeeds !== null) {
      const single = slots.slice(start, start + recordCount)
      start += single.length
      await response.writeBodies(bodyNeeds, single)
      recordCount = Math.min(2 * recordCount, ROW_PAGE)
    } else {
      const single = slots.slice(start, start + recordCount)
      start += single.length
      const uids = single.map((slot) => /** @type {number} */ (view.uids[slot]))
      const records = await session.store.readMessages(view.mailboxId, uids, plan.needs)
      const seen = setsSeen ? await markSeen(session, selected, single) : NOTHING_SEEN
      if (records.length < single.length) isSomeGone = true
      if (!(await writeRecords(session, response, { records, seen, isUid }))) isSomeGone = true
      const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0)
      if (plan.isWide) recordCount = nextPageSize(recordCount, bytes, ROW_PAGE)
    }
    if (start < slots.length) await slicer.breathe()
  }
  return isSomeGone || response.isSomeGone
}

/**
 * @param {SelectedMailbox} selected
 * @param {PagePlan} pagePlan
 * @param {readonly number[]} slots
 * @returns {boolean} whether lists are the faster way: much of a header is read faster from few messages, or from such that lie far
 *   apart, than from the blocks of 32 that each is in
 */
const isForPages = ({ view }, { isCertain }, slots) =>
  isCertain || (slots.length >= MIN_LISTED && areClose(view, slots))

/**
 * @param {Session} session
 * @param {FetchResponse} response
 * @param {object} page
 * @param {readonly MessageRecord[]} page.records
 * @param {ReadonlySet<number>} page.seen - slots of which \Seen has been set
 * @param {boolean} page.isUid
 * @returns {Promise<boolean>} whether none was expunged meanwhile
 */
async function writeRecords(session, response, { records, seen, isUid }) {
  const { view } = session.requireSelected()
  const untold = new Set(seen)
  let isComplete = true
  try {
    response.expect(records)
    for (const record of records) {
      const slot = view.slotOf(record.uid)
      if (!(await response.writeRecord(record, slot, seen.has(slot)))) isComplete = false
      untold.delete(slot)
    }
  } catch (error) {
    // \Seen of the others has been set all the same, and would never be told: it is this session's own change.
    response.finish()
    const { isCondstore, tellsUids } = session.enabled
    await tellFlags(session, [...untold], {
      withUid: isUid || tellsUids,
      withFlags: true,
      withModSeq: isCondstore
    })
    throw error
  }
  return isComplete
}

/**
 * @param {MessageRecord} record
 * @returns {number} bytes that it holds in memory
 */
function sizeOf({ envelope, body, bodyStructure, header, partTree, content }) {
  return [envelope, body, bodyStructure, header, partTree, content].reduce(
    (sum, bytes) => sum + (bytes?.length ?? 0),
    0
  )
}

/**
 * Sets \Seen for the page, without waiting for the disk: after a crash the message is merely unread again. Where the
 * MODSEQ of the change is told too, the disk is waited for, because no MODSEQ may ever mean something else.
 *
 * @param {Session} session
 * @param {SelectedMailbox} selected
 * @param {readonly number[]} page
 * @returns {Promise<Set<number>>} the slots that have changed
 */
async function markSeen(session, selected, page) {
  const { view } = selected
  const unseen = page.filter(
    (slot) => (selected.flagsOf(slot) & SEEN) === 0 && !view.isExpunged(slot)
  )
  if (unseen.length === 0) return new Set()
  const uids = unseen.map((slot) => /** @type {number} */ (view.uids[slot]))
  const isLazy = !session.enabled.isCondstore
  let modSeq
  try {
    ;({ modSeq } = await session.store.changeFlags({
      view,
      uids,
      action: 'add',
      flags: ['\\Seen'],
      unchangedSince: null,
      origin: session.origin,
      isLazy
    }))
  } catch (error) {
    // Mail can be read from a full or busy disk; it stays unread.
    if (!(error instanceof MailError) || !error.temporary) throw error
    session.logger.warn({ err: error }, 'seen could not be set')
    return new Set()
  }
  if (isLazy) selected.noteSeen(uids, modSeq)
  return new Set(unseen)
}
