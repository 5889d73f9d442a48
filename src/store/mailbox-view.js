/**
 * One mailbox as all sessions of the account share it: UIDs, flags and MODSEQs in typed arrays, one slot for each
 * message in the order of UIDs. What changes is applied once, after it is durable, and told to each attachment
 * through one log of changes.
 *
 * A slot keeps its number: new messages come behind, an expunged one stays as a tombstone. Only when no attachment
 * is busy with slot numbers, none has changes waiting and all have acknowledged every tombstone, the tombstones
 * are dropped and each attachment is told so (`onCompact`).
 */
import { countBelow, countBelowFrom } from '../support/count-below.js'
import { grown } from '../support/grown.js'
import { ChangeLog } from './change-log.js'
import { masked } from './flag-masks.js'
import { aliveRuns, closeUp } from './close-up.js'
import { ViewAttachment } from './view-attachment.js'

/**
 * @typedef {{ kind: 'append', fromSlot: number, toSlot: number }} AppendRecord - `toSlot` exclusive
 * @typedef {{ kind: 'flags', slots: number[], origin: unknown }} FlagsRecord - slots ascending
 * @typedef {{ kind: 'expunge', slots: number[], after: number, origin: unknown }} ExpungeRecord - slots ascending; `after`:
 *   the mailbox's mod-sequence before it
 * @typedef {AppendRecord | FlagsRecord | ExpungeRecord} ChangeRecord
 *
 * @typedef {object} ViewRow
 * @property {number} uid
 * @property {number} modSeq
 * @property {number} flags
 * @property {number} keywords
 *
 * @typedef {object} ViewColumns - of messages that come together, all with the same MODSEQ
 * @property {Readonly<Uint32Array>} uids - ascending
 * @property {number} modSeq
 * @property {Readonly<Uint32Array>} flags
 * @property {Readonly<Uint32Array>} keywords
 */

/** Slots that a view has at least: most mailboxes that are opened hold some hundreds of messages. */
const MIN_CAPACITY = 256

/** Slots that it has at most before messages have been read: the count that it is told may be wrong. */
const MAX_FIRST_CAPACITY = 2 ** 20

/** Tombstones that are worth a copy of all arrays, even when they are few against the whole. */
const MANY_TOMBSTONES = 1024

/**
 * The shared view. Arrays may be longer than `length` (they grow ahead) and are replaced when they grow, so look
 * them up each time.
 */
export class MailboxView {
  /** Slots in use, tombstones included. */
  length = 0
  /** Messages that are there. */
  aliveCount = 0
  /** Whether the mailbox itself was deleted: nothing changes here any more. */
  isDeleted = false
  /**
   * Why what is in the file could not be taken in last time: until it is, the view shows the mailbox as it was before.
   *
   * @type {unknown}
   */
  failure = null
  uids
  flags
  keywords
  modSeqs
  /** contents.id of the messages whose bodies were asked for, and of their neighbours; 0: not known. May be shorter. */
  contentIds = new Float64Array(0)
  /** RFC822.SIZE of the same, bytes. */
  sizes = new Float64Array(0)
  /**
   * What messages were sorted and threaded by: see sort/sort-columns.js and threading/known-replies.js. 0: not known. May be
   * shorter.
   *
   * @type {Map<string, Float64Array | Uint32Array | Uint8Array>}
   */
  sortColumns = new Map()
  /** @type {import('./threading/kept-links.js').KeptLinks | null} by UID */
  threadLinks = null
  #dead
  /** Highest UID that ever had a slot: the slot itself may have been dropped. */
  #lastUid = 0
  /** What the attachments have not taken yet. */
  log = new ChangeLog()
  /** @type {Set<ViewAttachment>} */
  #attachments = new Set()

  /**
   * @param {object} mailbox
   * @param {number} mailbox.id
   * @param {string} mailbox.name
   * @param {number} mailbox.uidValidity
   * @param {number} mailbox.uidNext
   * @param {number} mailbox.highestModSeq
   * @param {number} [mailbox.messageCount] - how many it is going to be told of: to grow on the way costs as much as to read
   */
  constructor({ id, name, uidValidity, uidNext, highestModSeq, messageCount = 0 }) {
    this.mailboxId = id
    this.name = name
    this.uidValidity = uidValidity
    this.uidNext = uidNext
    this.highestModSeq = highestModSeq
    // And an eighth for those to come.
    const capacity = Math.min(Math.ceil(messageCount * 1.125), MAX_FIRST_CAPACITY)
    const slots = Math.max(capacity, MIN_CAPACITY)
    this.uids = new Uint32Array(slots)
    this.flags = new Uint32Array(slots)
    this.keywords = new Uint32Array(slots)
    this.modSeqs = new Float64Array(slots)
    this.#dead = new Uint8Array(slots)
  }

  /** @returns {number} memory of its arrays */
  get bytes() {
    const { uids, flags, keywords, modSeqs, contentIds, sizes } = this
    const arrays = [uids, flags, keywords, modSeqs, contentIds, sizes, this.#dead]
    return [...arrays, ...this.sortColumns.values()].reduce(
      (sum, { byteLength }) => sum + byteLength,
      this.threadLinks?.bytes ?? 0
    )
  }

  /** @returns {boolean} whether the message in any slot is gone */
  get hasTombstones() {
    return this.aliveCount < this.length
  }

  /** @returns {Uint32Array} slots whose messages are gone, ascending */
  get tombstones() {
    const slots = new Uint32Array(this.length - this.aliveCount)
    let count = 0
    for (let slot = 0; count < slots.length; slot++) if (this.#dead[slot]) slots[count++] = slot
    return slots
  }

  /**
   * @param {number} slot
   * @returns {boolean} whether the message in this slot is gone
   */
  isExpunged(slot) {
    return this.#dead[slot] === 1
  }

  /**
   * @param {number} uid
   * @param {number} [from] - the UIDs of the slots before this one are lower; default: all are looked at
   * @returns {number} first slot whose UID is at least `uid`; `length` if there is none
   */
  lowerBound(uid, from) {
    if (from === undefined) return countBelow(this.uids, uid, this.length)
    return countBelowFrom(this.uids, uid, from, this.length)
  }

  /**
   * @param {number} uid
   * @returns {number} its slot, which may be a tombstone; -1 if there is none
   */
  slotOf(uid) {
    const slot = this.lowerBound(uid)
    return slot < this.length && this.uids[slot] === uid ? slot : -1
  }

  /**
   * @param {readonly number[]} uids - ascending
   * @returns {boolean} whether these are all messages from the first to the last of them
   */
  isRun(uids) {
    let slot = this.lowerBound(uids[0] ?? 0)
    for (const uid of uids) {
      while (slot < this.length && this.#dead[slot]) slot++
      if (slot >= this.length || this.uids[slot] !== uid) return false
      slot++
    }
    return uids.length > 0
  }

  /**
   * @param {() => void} onChange - called after each change, whoever made it
   * @returns {ViewAttachment} that knows the view as it is now
   */
  attach(onChange) {
    const attachment = new ViewAttachment(this, onChange)
    this.log.join(attachment)
    this.#attachments.add(attachment)
    return attachment
  }

  /**
   * Keeps where a message's bytes are, which never changes.
   *
   * @param {number} slot
   * @param {number} contentId
   * @param {number} size - RFC822.SIZE, bytes
   */
  rememberContent(slot, contentId, size) {
    const capacity = this.uids.length
    if (slot >= this.contentIds.length) {
      this.contentIds = grown(this.contentIds, new Float64Array(capacity))
      this.sizes = grown(this.sizes, new Float64Array(capacity))
    }
    this.contentIds[slot] = contentId
    this.sizes[slot] = size
  }

  // What follows is for the attachments.

  /** @param {ViewAttachment} attachment */
  removeAttachment(attachment) {
    this.#attachments.delete(attachment)
    this.log.leave(attachment)
    this.compactIfPossible()
  }

  /** Drops the tombstones when they are worth it and nobody needs them. */
  compactIfPossible() {
    const tombstones = this.length - this.aliveCount
    if (tombstones === 0 || (tombstones < MANY_TOMBSTONES && tombstones * 4 < this.length)) return
    for (const attachment of this.#attachments) if (attachment.needsSlots) return
    const { uids, flags, keywords, modSeqs, contentIds, sizes } = this
    const arrays = [uids, flags, keywords, modSeqs, contentIds, sizes]
    const runs = aliveRuns(this.#dead, this.length)
    for (const array of [...arrays, ...this.sortColumns.values()]) closeUp(array, runs, this.length)
    this.#dead.fill(0, 0, this.length)
    this.length = this.aliveCount
    for (const attachment of this.#attachments) attachment.onCompact()
  }

  // What follows is for views.js, which applies what is durable.

  /**
   * @param {number} uid
   * @param {number} modSeq
   * @param {number} flags
   * @param {number} keywords
   * @returns {boolean} false if a message of that UID or a later one is there already
   */
  append(uid, modSeq, flags, keywords) {
    if (uid <= this.#lastUid) return false
    this.#lastUid = uid
    this.#growTo(this.length + 1)
    const slot = this.length++
    this.uids[slot] = uid
    this.modSeqs[slot] = modSeq
    this.flags[slot] = flags
    this.keywords[slot] = keywords
    this.#dead[slot] = 0
    this.aliveCount++
    if (uid >= this.uidNext) this.uidNext = uid + 1
    return true
  }

  /**
   * As `append` for each: of a large mailbox that is copied a row at a time takes fifty times as long.
   *
   * @param {ViewColumns} columns - what is there already, or later, is left out
   */
  appendColumns({ uids, modSeq, flags, keywords }) {
    const first = countBelow(uids, this.#lastUid + 1)
    const count = uids.length - first
    if (count === 0) return
    const { length } = this
    this.#growTo(length + count)
    this.uids.set(uids.subarray(first), length)
    this.flags.set(flags.subarray(first), length)
    this.keywords.set(keywords.subarray(first), length)
    this.modSeqs.fill(modSeq, length, length + count)
    this.#dead.fill(0, length, length + count)
    this.length += count
    this.aliveCount += count
    this.#lastUid = /** @type {number} */ (uids.at(-1))
    this.uidNext = Math.max(this.uidNext, this.#lastUid + 1)
  }

  /**
   * @param {number} slot
   * @param {ViewRow} row
   * @returns {boolean} false if the slot is as new already, or gone
   */
  update(slot, { modSeq, flags, keywords }) {
    if (this.#dead[slot] || /** @type {number} */ (this.modSeqs[slot]) >= modSeq) return false
    this.modSeqs[slot] = modSeq
    this.flags[slot] = flags
    this.keywords[slot] = keywords
    return true
  }

  /**
   * Changes flags by masks. The view must be as it was just before the transaction that did the same to the rows.
   *
   * @param {import('./apply-change.js').MaskedRun} run
   * @param {number} modSeq
   * @returns {number[]} slots that have changed, ascending
   */
  mask({ first, last, masks }, modSeq) {
    const { keepFlags, putFlags, keepKeywords, putKeywords } = masks
    const { uids, flags, keywords, modSeqs } = this
    const slots = []
    for (let slot = this.lowerBound(first); slot < this.length; slot++) {
      if (/** @type {number} */ (uids[slot]) > last) break
      // As new already: the view has read it, and maybe later changes too, while this one waited.
      if (this.#dead[slot] || /** @type {number} */ (modSeqs[slot]) >= modSeq) continue
      const oldFlags = /** @type {number} */ (flags[slot])
      const oldKeywords = /** @type {number} */ (keywords[slot])
      const newFlags = masked(oldFlags, keepFlags, putFlags)
      const newKeywords = masked(oldKeywords, keepKeywords, putKeywords)
      if (newFlags === oldFlags && newKeywords === oldKeywords) continue
      flags[slot] = newFlags
      keywords[slot] = newKeywords
      modSeqs[slot] = modSeq
      slots.push(slot)
    }
    return slots
  }

  /**
   * @param {number} slot
   * @returns {boolean} false if it is a tombstone already
   */
  bury(slot) {
    if (this.#dead[slot]) return false
    this.#dead[slot] = 1
    this.aliveCount--
    return true
  }

  /**
   * @param {ArrayLike<number>} gone - UIDs, ascending
   * @returns {number[]} slots that are tombstones now and were none before, ascending
   */
  buryAll(gone) {
    const { uids, length } = this
    const dead = this.#dead
    const buried = []
    let slot = 0
    for (let index = 0; index < gone.length; index++) {
      const uid = /** @type {number} */ (gone[index])
      // Of very many most follow each other.
      if (uids[slot] !== uid) slot = this.lowerBound(uid, slot)
      if (slot >= length || uids[slot] !== uid) continue
      if (dead[slot] === 0) buried.push(slot)
      dead[slot++] = 1
    }
    this.aliveCount -= buried.length
    return buried
  }

  /**
   * Puts a change into the log and tells every attachment.
   *
   * @param {readonly ChangeRecord[]} records
   */
  publish(records) {
    this.log.push(records)
    this.announce()
    this.compactIfPossible()
  }

  /** Tells every attachment to look. */
  announce() {
    for (const attachment of [...this.#attachments]) attachment.notify()
  }

  /** @param {number} length - slots that are about to be in use */
  #growTo(length) {
    if (length <= this.uids.length) return
    let capacity = this.uids.length
    while (capacity < length) capacity *= 2
    this.uids = grown(this.uids, new Uint32Array(capacity))
    this.flags = grown(this.flags, new Uint32Array(capacity))
    this.keywords = grown(this.keywords, new Uint32Array(capacity))
    this.modSeqs = grown(this.modSeqs, new Float64Array(capacity))
    this.#dead = grown(this.#dead, new Uint8Array(capacity))
  }
}
