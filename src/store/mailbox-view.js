/**
 * One mailbox as all sessions of the account share it: UIDs, flags and MODSEQs in typed arrays, one slot for each
 * message in the order of UIDs. What changes is applied once, after it is durable, and told to each attachment
 * through one log of changes.
 *
 * A slot keeps its number: new messages come behind, an expunged one stays as a tombstone. Only when no attachment
 * is busy with slot numbers, none has changes waiting and all have acknowledged every tombstone, the tombstones
 * are dropped and each attachment is told so (`onCompact`).
 */
import { countBelow } from '../support/count-below.js'
import { grown } from '../support/grown.js'
import { ChangeLog } from './change-log.js'
import { masked } from './flag-masks.js'

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
 */

/** Slots that a view has at least: most mailboxes that are opened hold some hundreds of messages. */
const MIN_CAPACITY = 256

/** And that it has for messages which have yet to be read: a count may be wrong. */
const MAX_FIRST_CAPACITY = 2 ** 20

/** Tombstones that are worth a copy of all arrays, even when they are few against the whole. */
const MANY_TOMBSTONES = 1024

/** One session's (or one watcher's) place in the changes of a view. */
export class ViewAttachment {
  #view
  #onChange
  /** Tombstones that were taken: a message goes once, so that their number is enough. */
  #unacknowledged = 0
  /** Called after tombstones were dropped: every slot number known before is void. */
  onCompact = () => {}
  /** Of the log. */
  next = 0
  /** Whether slot numbers are in use; the view's own business. */
  isBusy = false

  /**
   * @param {MailboxView} view
   * @param {() => void} onChange
   */
  constructor(view, onChange) {
    this.#view = view
    this.#onChange = onChange
  }

  /** @returns {boolean} whether `take` has something to give */
  get hasPending() {
    return this.#view.log.hasNewsFor(this)
  }

  /** @returns {boolean} whether this attachment stands against dropping tombstones */
  get needsSlots() {
    return this.isBusy || this.hasPending || this.#unacknowledged > 0
  }

  /**
   * Drops no tombstones, or the slot numbers in what it returns would be void: whoever is not busy must use them before
   * anything else happens to the view.
   *
   * @returns {ChangeRecord[]} everything since the last take
   */
  take() {
    const records = this.#view.log.take(this)
    for (const record of records) {
      if (record.kind === 'expunge') this.#unacknowledged += record.slots.length
    }
    return records
  }

  /**
   * While busy, slot numbers stay what they are.
   *
   * @param {boolean} isBusy
   */
  setBusy(isBusy) {
    this.isBusy = isBusy
    this.#view.compactIfPossible()
  }

  /**
   * @param {number} count - tombstones among those taken that the client has been told of, or need never hear of
   */
  acknowledgeExpunged(count) {
    this.#unacknowledged -= count
    this.#view.compactIfPossible()
  }

  /** Ends the attachment; it takes no more changes and stands against nothing. */
  detach() {
    this.#view.removeAttachment(this)
  }

  /** Tells the owner that there is something to take; the view's own business. */
  notify() {
    this.#onChange()
  }
}

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

  /**
   * @param {number} slot
   * @returns {boolean} whether the message in this slot is gone
   */
  isExpunged(slot) {
    return this.#dead[slot] === 1
  }

  /**
   * @param {number} uid
   * @returns {number} first slot whose UID is at least `uid`; `length` if there is none
   */
  lowerBound(uid) {
    return countBelow(this.uids, uid, this.length)
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
    for (const array of [...arrays, ...this.sortColumns.values()])
      closeUp(array, this.#dead, this.length)
    this.#dead.fill(0)
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
    if (this.length === this.uids.length) this.#grow()
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

  #grow() {
    const capacity = this.uids.length * 2
    this.uids = grown(this.uids, new Uint32Array(capacity))
    this.flags = grown(this.flags, new Uint32Array(capacity))
    this.keywords = grown(this.keywords, new Uint32Array(capacity))
    this.modSeqs = grown(this.modSeqs, new Float64Array(capacity))
    this.#dead = grown(this.#dead, new Uint8Array(capacity))
  }
}

/**
 * Moves what is of living messages to the front; behind it stand zeros.
 *
 * @param {Uint8Array | Uint32Array | Float64Array} array - may be shorter than `length`
 * @param {Uint8Array} dead - 1 for a tombstone
 * @param {number} length - slots in use
 */
function closeUp(array, dead, length) {
  const end = Math.min(length, array.length)
  let to = 0
  for (let from = 0; from < end; from++)
    if (dead[from] === 0) array[to++] = /** @type {number} */ (array[from])
  array.fill(0, to)
}
