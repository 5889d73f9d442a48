/**
 * What a session is told about its selected mailbox without asking: EXPUNGE, EXISTS, RECENT, and FETCH for flags
 * that others have changed (RFC 3501 §5.2, §7.3, §7.4; RFC 9051 §5.2, §7.4, §7.5); VANISHED in place of EXPUNGE where
 * QRESYNC is on (RFC 7162 §3.2.10).
 */
import { isMailError, MailError } from '../../errors.js'
import { Slicer } from '../../support/slicer.js'
import { FetchWriter } from '../protocol/compile/fetch.js'
import { compileFlags } from '../protocol/compile/flags.js'
import { highestModSeq, permanentFlags } from '../protocol/compile/response-code.js'
import { compileExists, compileExpunges, compileRecent } from '../protocol/compile/untagged.js'
import { compileVanished } from '../protocol/compile/vanished.js'
import { rangesOf } from '../protocol/values/sequence-set.js'
import { ConnectionClosed } from './connection.js'
import { failureReply } from './error-response.js'
import { writeFlagLines } from './flag-lines.js'
import { writeLongAnswer } from './long-answer.js'

/** @import { FlagLine } from './fetch-plan.js' */
/** @import { Session } from './session.js' */

/** @typedef {{ allowsExpunge: boolean, isUid: boolean }} NewsOptions - `isUid` adds the UID to each FETCH */

/** So many bytes of FETCH lines are written between two looks at the client and the clock. */
const STEP_BYTES = 64 * 1024

/**
 * The writer of all sessions, because its lines are handed over before anything is awaited. It keeps the text of flags, and
 * most answers are one line.
 */
const LINE_WRITER = new FetchWriter()

const SYSTEM_FLAGS = ['\\Answered', '\\Flagged', '\\Deleted', '\\Seen', '\\Draft']

/**
 * Sends what waits to be told. Does nothing without a selected mailbox. News that cannot be told now must not turn a command
 * that is done into one that has failed.
 *
 * @param {Session} session
 * @param {NewsOptions} options
 * @param {string} commandName - for the log
 * @throws {ConnectionClosed}
 */
export async function tellNews(session, options, commandName) {
  if (!session.hasNews) return
  try {
    await writeNews(session, options)
  } catch (error) {
    if (error instanceof ConnectionClosed) throw error
    failureReply(session, error, commandName)
  }
}

/**
 * @param {Session} session - which has some
 * @param {NewsOptions} options
 */
async function writeNews(session, { allowsExpunge, isUid }) {
  const selected = session.requireSelected()
  selected.hold()
  try {
    const { highestModSeq: upTo } = selected.view
    const news = selected.takeNews({ allowsExpunge, hasLateReplies: session.replies.hasMore })
    const { expunged, expungedUids, exists, hasFewerRecent, flags, isHeldBack, isAhead } = news
    if (session.enabled.isQresync) {
      await writeLongAnswer(session, compileVanished(rangesOf(expungedUids), { isEarlier: false }))
    } else await writeLongAnswer(session, compileExpunges(expunged))
    if (exists !== null) {
      await claimRecent(session)
      writeSize(session, exists)
      // RFC 3501 §7.3.2: whoever takes one off their count with each EXPUNGE has no such rule for \Recent.
    } else if (hasFewerRecent) session.write(compileRecent(selected.recentCount))
    await tellFlags(session, flags, {
      withUid: isUid || session.enabled.tellsUids,
      withFlags: true,
      withModSeq: session.enabled.isCondstore
    })
    // RFC 7162 §3.2: a MODSEQ that this command has told may be above that of an expunge which it must not tell, of what
    // others have changed while this was written, or of a change by this session whose reply is yet to come.
    const { isQresync, isCondstore } = session.enabled
    const isOvertaken = isAhead || selected.view.highestModSeq > upTo
    if ((isHeldBack && isQresync) || (isOvertaken && isCondstore))
      session.untagged('OK', highestModSeq(selected.toldModSeq), 'More is told later')
    // EXISTS has no MODSEQ, nor has APPENDUID. A client that appends and is told none would next time be told its own messages as
    // changed, take that for a change on both sides, and set flags again that another client has removed.
    else if (exists !== null && isCondstore)
      session.untagged('OK', highestModSeq(selected.toldModSeq), 'Highest modification sequence')
  } finally {
    selected.unhold()
  }
}

/**
 * Tells how many messages there are, and to those who know \Recent how many have it (RFC 9051 Appendix E, 12).
 *
 * @param {Session} session
 * @param {number} exists
 */
export function writeSize(session, exists) {
  session.write(compileExists(exists))
  if (!session.enabled.isRev2) session.write(compileRecent(session.requireSelected().recentCount))
}

/**
 * Takes \Recent for the messages of which no session has had it yet (RFC 3501 §2.3.2). A session that may not write shows
 * \Recent too, and takes it from nobody; a session of IMAP4rev2 leaves it to those that know it.
 *
 * @param {Session} session
 */
export async function claimRecent(session) {
  const { selected } = session
  if (selected === null || session.enabled.isRev2) return
  // The view may have more messages once the claim is done; only those of now are claimed.
  const { uidNext } = selected.view
  const isForOthersToo = selected.isReadOnly
  try {
    const { fromUid } = await session.store.claimRecent(selected.view, { isForOthersToo })
    selected.recent.add(fromUid, uidNext)
  } catch (error) {
    // \Recent is a courtesy: a busy or damaged disk must not cost the client its EXISTS. Others get it then. In a mailbox
    // that was deleted meanwhile nobody needs it.
    if (isMailError(error, 'MAILBOX_NOT_FOUND')) return
    if (!(error instanceof MailError)) throw error
    session.logger.warn({ err: error }, 'recent could not be claimed')
  }
}

/**
 * Announces the flags of the mailbox where a keyword has been added since (RFC 3501 §7.2.6).
 *
 * @param {Session} session
 */
export function tellKeywords(session) {
  const { selected } = session
  if (selected === null) return
  const { names, isFull } = session.store.keywords
  if (names.length === session.toldKeywords) return
  session.toldKeywords = names.length
  const flags = [...SYSTEM_FLAGS, ...names]
  session.write(compileFlags(flags))
  const permanent = selected.isReadOnly ? [] : isFull ? flags : [...flags, '\\*']
  session.untagged('OK', permanentFlags(permanent), 'Flags that are kept')
}

/**
 * Writes one FETCH line for each slot.
 *
 * @param {Session} session
 * @param {readonly number[]} slots - ones that the client sees, ascending
 * @param {FlagLine} line
 */
export async function tellFlags(session, slots, line) {
  if (slots.length === 0) return
  const selected = session.requireSelected()
  const writer = LINE_WRITER
  const enoughBytes = STEP_BYTES
  const slicer = new Slicer()
  for (let next = 0; next < slots.length;) {
    // Another session may have made a keyword since the step before.
    if (line.withFlags) tellKeywords(session)
    // Another session's failure may have left something in the shared writer, which is not for this client.
    writer.clear()
    const { keywords } = session.store
    next = writeFlagLines({ selected, keywords, line, writer, enoughBytes }, slots, next)
    writer.handTo((bytes) => session.writeCopied(bytes))
    if (session.connection.isCongested) await session.connection.drain()
    else await slicer.breathe()
  }
}
