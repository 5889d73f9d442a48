/**
 * What one client has been told about the mailbox that it selected, over the view that all sessions share.
 *
 * A view holds one slot for each message in the order of UIDs; a slot is never reused while anybody needs it,
 * and an expunged message stays behind as a tombstone. So a sequence number is a slot's rank among the slots
 * that this client still sees:
 *
 *     slot      0   1   2   3   4   5   6
 *     view      a   ✝   c   ✝   e   f   g        ✝ expunged
 *     hidden        1                            this client has been told of the expunge
 *     pending               3                    not told yet: still has its number (RFC 3501 §7.4.1)
 *     told      ----------------------|          toldLength 6: no EXISTS for g yet
 *     sequence  1       2   3   4   5
 *
 * Nothing of the mailbox is copied; the session keeps the two lists of slots, until the view drops the
 * tombstones (`onCompact`), which it does only when every session has acknowledged them.
 */

import { SEEN } from '../../store/flags.js'
import { countBelow } from '../../support/count-below.js'
import { RecentUids } from './recent-uids.js'
import { NOTHING_SAVED } from './saved-result.js'
import {
  inOrder,
  mergeSorted,
  NO_SLOTS,
  onceInOrder,
  ranksFromLast,
  visibleAt,
  withoutHidden
} from './sorted-slots.js'

/** @import { MailboxView } from '../../store/mailbox-view.js' */
/** @import { ViewAttachment } from '../../store/view-attachment.js' */
/** @import { SequenceSet } from '../protocol/values/sequence-set.js' */

/**
 * @typedef {object} Told
 * @property {Readonly<Uint32Array>} expunged - sequence numbers in the order in which they must be sent
 * @property {Readonly<Uint32Array>} expungedUids - the same messages by UID, ascending
 * @property {number | null} exists - the new size, where it has grown
 * @property {boolean} hasFewerRecent - whether some of the expunged were \Recent
 * @property {readonly number[]} flags - slots whose flags or MODSEQ have changed, ascending
 * @property {boolean} isHeldBack - whether there are expunges that are not told yet
 * @property {boolean} isAhead - whether MODSEQs have been told that may be above those of this session's own changes, whose
 *   replies wait
 */

/**
 * @typedef {object} Resolution - of a set
 * @property {number[]} slots - the living messages
 * @property {boolean} isSomeExpunged - whether others that the client still sees were left out
 * @property {boolean} isOutOfRange - whether a sequence number does not exist (RFC 3501 §9, seq-number: a tagged BAD)
 */

/** Below every MODSEQ. */
const EVER = -1

const NOTHING_EXPUNGED = { expunged: NO_SLOTS, expungedUids: NO_SLOTS }

/** The selected mailbox of one session. */
export class SelectedMailbox {
  /** @type {ViewAttachment} */
  #attachment
  #hidden = NO_SLOTS
  #pending = NO_SLOTS
  /** The mailbox's mod-sequence before the first of the pending expunges. */
  #pendingAfter = Infinity
  /**
   * Each list is ascending; a message may be in several.
   *
   * @type {(readonly number[])[]}
   */
  #changed = []
  #toldLength
  #toldExists
  #holds = 0
  #isDetached = false
  /** The messages that are \Recent in this session. */
  recent = new RecentUids()
  /**
   * UIDs that this session has made \Seen, and the MODSEQ of each change: it is not durable, so not in the view, until the view
   * has reached that MODSEQ.
   *
   * @type {Map<number, number>}
   */
  #seenSoon = new Map()
  /** The highest MODSEQ in `#seenSoon`. */
  #seenSoonModSeq = 0
  #origin
  /**
   * UIDs of the messages that STOREs waiting for their replies change, and maybe of earlier STOREs.
   *
   * @type {Set<number>}
   */
  storedUids = new Set()
  /** The value of `toldModSeq` before the first waiting reply. */
  #toldBefore = 0
  /** Whether the client was told of others' changes while replies waited. */
  #isMixed = false
  /** The messages that `$` stands for (RFC 5182 §2.1): none in a mailbox that is selected anew. */
  savedResult = NOTHING_SAVED
  /**
   * The mod-sequence up to which the client has been told everything. The mailbox's own may be higher: what a client has as
   * its HIGHESTMODSEQ when it loses the connection is what it asks from next time (RFC 7162 §3.2).
   */
  toldModSeq

  /**
   * @param {object} options
   * @param {MailboxView} options.view
   * @param {boolean} options.isReadOnly - by EXAMINE, or because the credential may only read
   * @param {unknown} options.origin - what this session's own changes are marked with
   * @param {() => void} options.onChange - called when something waits to be told
   */
  constructor({ view, isReadOnly, origin, onChange }) {
    this.view = view
    this.isReadOnly = isReadOnly
    this.#origin = origin
    this.#attachment = view.attach(onChange)
    this.#attachment.onCompact = () => this.#compact()
    this.#toldLength = view.length
    this.toldModSeq = view.highestModSeq
    if (view.hasTombstones) this.#hidden = view.tombstones
    this.#toldExists = this.messageCount
  }

  /** @returns {number} how many messages the client believes there are */
  get messageCount() {
    return this.#toldLength - this.#hidden.length
  }

  /** @returns {number} the UID of the last message that the client knows, 0 in an empty mailbox */
  get maxUid() {
    const slot = this.slotOfSequence(this.messageCount)
    return slot < 0 ? 0 : /** @type {number} */ (this.view.uids[slot])
  }

  /** @returns {boolean} whether there may be something to tell */
  get hasNews() {
    if (this.#attachment.hasPending || this.#isMixed) return true
    return this.#pending.length > 0 || this.#changed.length > 0
  }

  /** @returns {boolean} whether every message's sequence number is its slot's place */
  get hasPlainNumbers() {
    return this.#hidden.length === 0
  }

  /** @returns {boolean} whether any message may be \Recent in this session */
  get hasRecent() {
    return !this.recent.isEmpty
  }

  #compact() {
    this.#hidden = NO_SLOTS
    this.#pending = NO_SLOTS
    this.#pendingAfter = Infinity
    this.#changed = []
    this.#toldLength = this.view.length
  }

  /** Until as many `unhold`s, slot numbers stay what they are. */
  hold() {
    if (this.#holds++ === 0 && !this.#isDetached) this.#attachment.setBusy(true)
  }

  /** Ends one `hold`. */
  unhold() {
    if (--this.#holds === 0 && !this.#isDetached) this.#attachment.setBusy(false)
  }

  /** Lets the view go; the object is of no use afterwards. */
  detach() {
    this.#isDetached = true
    this.#attachment.detach()
  }

  /**
   * @param {number} slot
   * @returns {number} its sequence number, 0 where the client knows the message as gone, or not yet
   */
  sequenceOfSlot(slot) {
    const hiddenBelow = countBelow(this.#hidden, slot)
    if (slot >= this.#toldLength || this.#hidden[hiddenBelow] === slot) return 0
    return slot + 1 - hiddenBelow
  }

  /**
   * @param {number} sequence
   * @returns {number} the slot, or -1 where the client knows no such number
   */
  slotOfSequence(sequence) {
    if (sequence < 1 || sequence > this.messageCount) return -1
    return visibleAt(sequence - 1, this.#hidden)
  }

  /**
   * The messages that a set names, in the order of slots, each once. There may be tens of thousands of ranges: V8
   * compiles the callback once, but would interpret a loop here each time, since it keeps no loop compiled while it ran.
   *
   * @param {SequenceSet} set
   * @param {boolean} isUid
   * @param {number | null} [sinceModSeq] - messages with a lower MODSEQ, or this one, are left out as they are met: a client that
   *   asks what is new names all, and few have changed
   * @returns {Resolution}
   */
  resolve(set, isUid, sinceModSeq = null) {
    const isByUid = isUid || set.isSearchResult
    const top = isByUid ? this.maxUid : this.messageCount
    const ranges = set.isSearchResult ? this.savedResult.ranges : set.resolve(top)
    // RFC 3501 §9, seq-number: `*` is no number either where there is no message.
    const isOutOfRange = !isUid && set.hasStar && this.messageCount === 0
    /** @type {Resolution} */
    const found = { slots: [], isSomeExpunged: false, isOutOfRange }
    const after = sinceModSeq ?? EVER
    let end = 0
    ranges.forEach(({ from, to }) => {
      if (isByUid) {
        // Each range begins behind the ones before.
        const first = this.view.lowerBound(from, end)
        end = this.view.lowerBound(to + 1, first)
        this.#addVisible(first, end, found, after)
      } else if (from < 1 || to > this.messageCount) found.isOutOfRange = true
      else this.#addVisible(this.slotOfSequence(from), this.slotOfSequence(to) + 1, found, after)
    })
    return found
  }

  /**
   * @param {number} first
   * @param {number} end - exclusive
   * @param {Resolution} found - takes the living messages that the client sees
   * @param {number} after - MODSEQ that theirs must be above
   */
  #addVisible(first, end, found, after) {
    const { view } = this
    const { modSeqs } = view
    const { slots } = found
    const last = Math.min(end, this.#toldLength)
    // By itself, because it is compiled before anybody connects (warm-up.js): the first scan of flags took twice as long without.
    if (after === EVER && !view.hasTombstones) {
      for (let slot = first; slot < last; slot++) slots.push(slot)
      return
    }
    let hiddenIndex = countBelow(this.#hidden, first)
    for (let slot = first; slot < last; slot++) {
      if (this.#hidden[hiddenIndex] === slot) hiddenIndex++
      else if (view.isExpunged(slot)) found.isSomeExpunged = true
      else if (/** @type {number} */ (modSeqs[slot]) > after) slots.push(slot)
    }
  }

  /** From now on replies wait for each other, and the session's own changes may be done long before they are told. */
  beginLateReplies() {
    this.#toldBefore = this.toldModSeq
    this.#isMixed = false
  }

  /**
   * Takes in what has happened and says what to tell the client now. The caller holds (`hold`) until it has.
   *
   * @param {{ allowsExpunge: boolean, hasLateReplies?: boolean }} options - `hasLateReplies`: others wait behind this one
   * @returns {Told}
   */
  takeNews({ allowsExpunge, hasLateReplies = false }) {
    if (this.#attachment.hasPending) this.#absorb()
    const isTold = allowsExpunge && this.#pending.length > 0
    const recentBefore = isTold ? this.recentCount : 0
    const { expunged, expungedUids } = isTold ? this.#tellExpunged() : NOTHING_EXPUNGED
    const exists = this.messageCount
    const hasGrown = exists !== this.#toldExists - expunged.length
    this.#toldExists = exists
    const changed = onceInOrder(this.#changed, this.#toldLength)
    this.#changed = []
    const { view } = this
    const visible = withoutHidden(changed, this.#hidden)
    const flags = view.hasTombstones ? visible.filter((slot) => !view.isExpunged(slot)) : visible
    this.#isMixed = hasLateReplies && (this.#isMixed || flags.length > 0)
    const ownAfter = hasLateReplies ? this.#toldBefore : Infinity
    this.toldModSeq = Math.min(this.view.highestModSeq, this.#pendingAfter, ownAfter)
    return {
      expunged,
      expungedUids,
      exists: hasGrown ? exists : null,
      hasFewerRecent: isTold && this.recentCount < recentBefore,
      flags,
      isHeldBack: this.#pending.length > 0,
      isAhead: this.#isMixed
    }
  }

  #absorb() {
    /** @type {(readonly number[])[]} */
    const expunges = []
    const knownLength = this.#toldLength
    for (const record of this.#attachment.take()) {
      if (record.kind === 'append') {
        this.#toldLength = Math.max(this.#toldLength, record.toSlot)
      } else if (record.kind === 'expunge') {
        expunges.push(record.slots)
        this.#pendingAfter = Math.min(this.#pendingAfter, record.after)
      } else if (record.origin !== this.#origin) {
        const { slots } = record
        const isKnown = (slots.at(-1) ?? 0) < knownLength
        const known = isKnown ? slots : slots.filter((slot) => slot < knownLength)
        if (known.length > 0) this.#changed.push(known)
      }
    }
    if (expunges.length === 0) return
    // A message goes once. All at once, because a large mailbox is expunged in many pages.
    const expunged = inOrder(expunges)
    const seen = expunged.subarray(0, countBelow(expunged, knownLength))
    // A message that came and went between two looks is never mentioned.
    const unseen = expunged.subarray(seen.length)
    if (unseen.length > 0) {
      this.#hidden = mergeSorted(this.#hidden, unseen)
      this.#attachment.acknowledgeExpunged(unseen.length)
    }
    this.#pending = mergeSorted(this.#pending, seen)
    if (this.#pending.length === 0) this.#pendingAfter = Infinity
  }

  /** @returns {Pick<Told, 'expunged' | 'expungedUids'>} */
  #tellExpunged() {
    const { uids } = this.view
    const slots = this.#pending
    this.#pending = NO_SLOTS
    this.#pendingAfter = Infinity
    // Highest first: no number changes before it has been sent.
    const expunged = ranksFromLast(slots, this.#hidden)
    const expungedUids = slots.map((slot) => /** @type {number} */ (uids[slot]))
    this.#hidden = mergeSorted(this.#hidden, slots)
    this.#attachment.acknowledgeExpunged(slots.length)
    return { expunged, expungedUids }
  }

  /**
   * @param {number} slot
   * @returns {boolean} whether the message is \Recent in this session
   */
  isRecent(slot) {
    return this.recent.has(/** @type {number} */ (this.view.uids[slot]))
  }

  /**
   * Notes that the client was told of messages that they are \Seen; the view will know when the change is durable.
   *
   * @param {readonly number[]} uids
   * @param {number} modSeq - of the change
   */
  noteSeen(uids, modSeq) {
    for (const uid of uids) this.#seenSoon.set(uid, modSeq)
    this.#seenSoonModSeq = Math.max(this.#seenSoonModSeq, modSeq)
  }

  /**
   * A view is told of changes in the order of their commits: once it is at that of the last one, it has them all, and what
   * came behind them too.
   *
   * @returns {boolean} whether the client knows of a \Seen that the view does not know yet
   */
  get hasOwnFlags() {
    if (this.#seenSoon.size === 0) return false
    if (this.view.highestModSeq < this.#seenSoonModSeq) return true
    this.#seenSoon.clear()
    return false
  }

  /**
   * @param {number} slot
   * @returns {number} the message's flags as this client knows them
   */
  flagsOf(slot) {
    const flags = /** @type {number} */ (this.view.flags[slot])
    if (!this.hasOwnFlags) return flags
    const modSeq = this.#seenSoon.get(/** @type {number} */ (this.view.uids[slot])) ?? 0
    return modSeq > this.view.highestModSeq ? (flags | SEEN) >>> 0 : flags
  }

  /** @returns {number} how many of the messages that the client sees are \Recent */
  get recentCount() {
    let count = 0
    for (const { from, to } of this.recent.ranges) {
      const end = Math.min(this.view.lowerBound(to), this.#toldLength)
      const first = Math.min(this.view.lowerBound(from), end)
      count += end - first - (countBelow(this.#hidden, end) - countBelow(this.#hidden, first))
    }
    return count
  }
}
