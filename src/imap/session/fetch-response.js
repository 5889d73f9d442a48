/**
 * Writes the FETCH responses of one command: from the view, from rows, and with the bytes of sections
 * (fetch-section-writer.js).
 */
import { isMailError } from '../../errors.js'
import { areClose } from '../../store/close-slots.js'
import { StoredBody } from '../../store/read-bodies.js'
import { releaseBuffer } from '../../support/release-buffer.js'
import { nextTurn } from '../../support/turns.js'
import { FetchWriter } from '../protocol/compile/fetch.js'
import { writeBody, writeLongBody } from './fetch-body.js'
import { writePage } from './fetch-page.js'
import { isBinary } from './fetch-plan.js'
import { BATCH_BYTES, FetchSectionWriter } from './fetch-section-writer.js'
import { openSections } from './fetch-sections.js'
import { flagsText, writeFlagLines } from './flag-lines.js'
import { tellKeywords } from './mailbox-news.js'
import { emailIdOf } from './object-id.js'
import { writeRecordItem } from './record-item.js'

/** @import { MessageRecord } from '../../store/read-messages.js' */
/** @import { BodyNeeds, LongBody } from '../../store/read-bodies.js' */
/** @import { FetchPlan } from './fetch-plan.js' */
/** @import { Session } from './session.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** @typedef {{ flags: string, modSeq: number }} MessageState - `flags`: as they stand between the parentheses */

/**
 * Fewer messages than this that have not been read yet have probably just come: the stored rows that lists are made of may not
 * be in the file yet.
 */
const MIN_UNKNOWN = 3
/** A page of messages that lie far apart has at most so many: each may need a block of each kind by itself, some 20 KB. */
const FAR_PAGE = 24
/** The previews of so many messages are made, and kept, together. */
const PREVIEWS_A_READ = 64
/** So many messages are read at once where their bodies go out by the fast path. */
const BODIES_A_READ = 32

/**
 * Shared by all sessions, for answers that are written without awaiting anything in between. This writer has grown already and
 * keeps the text of flags: a FETCH of few messages need not make either.
 */
const SHARED_WRITER = new FetchWriter()

/** The responses of one FETCH. */
export class FetchResponse {
  #session
  #plan
  #slicer
  #writer = new FetchWriter()
  #sections
  /**
   * Messages that are written one by one.
   *
   * @type {readonly MessageRecord[]}
   */
  #expected = []
  /**
   * The previews of `#expected`, as far as they have been read.
   *
   * @type {Map<MessageRecord, string | null>}
   */
  #previews = new Map()
  /** Whether a message was expunged before it was read. */
  isSomeGone = false

  /**
   * @param {Session} session
   * @param {FetchPlan} plan
   * @param {Slicer} slicer - of the command
   */
  constructor(session, plan, slicer) {
    this.#session = session
    this.#plan = plan
    this.#slicer = slicer
    this.#sections = new FetchSectionWriter(session.connection, this.#writer, () => this.finish())
  }

  /**
   * Writes messages whose items the view answers alone.
   *
   * @param {readonly number[]} slots
   */
  async writeFromView(slots) {
    const { flagLine: line } = this.#plan
    const { connection, store } = this.#session
    const selected = this.#session.requireSelected()
    const writer = SHARED_WRITER
    const enoughBytes = BATCH_BYTES
    writer.clear()
    for (let next = 0; next < slots.length;) {
      if (line === null) next = this.#writeViewItems(writer, slots, next)
      else {
        // The keywords are looked up each time: another session may have made one meanwhile.
        const { keywords } = store
        next = writeFlagLines({ selected, keywords, line, writer, enoughBytes }, slots, next)
      }
      this.#handOver(writer)
      if (next === slots.length) return
      if (!connection.isCongested && !this.#slicer.isSpent) continue
      await this.#flush()
      // Another session's failure may have left something in the shared writer, which is not for this client.
      writer.clear()
    }
  }

  /**
   * Writes items of the view in another order than most clients ask for them.
   *
   * @param {FetchWriter} writer
   * @param {readonly number[]} slots
   * @param {number} start - index of the first that is written
   * @returns {number} index of the first that is not, because there are enough bytes to hand over
   */
  #writeViewItems(writer, slots, start) {
    const selected = this.#session.requireSelected()
    let next = start
    while (next < slots.length && writer.length < BATCH_BYTES) {
      const slot = /** @type {number} */ (slots[next++])
      writer.begin(selected.sequenceOfSlot(slot))
      for (const { kind } of this.#plan.items) this.#writeViewItem(kind, slot, writer)
      writer.end()
    }
    return next
  }

  /**
   * Writes the messages of a page at once, as far as nothing has to be made anew.
   *
   * @param {import('./fetch-page.js').PagePlan} pagePlan
   * @param {readonly number[]} slots - ascending
   * @returns {Promise<{ bytes: number, slots: number } | null>} bytes of the page or, if it is longer, of the answer; and how
   *   many of the slots it is the answer for, one at least; null: nothing was written, the first must be read by itself
   */
  async writePage(pagePlan, slots) {
    const { store } = this.#session
    const { view } = this.#session.requireSelected()
    if (!this.#mayBeReady(slots)) return null
    const { uids } = view
    const uidOf = (/** @type {number | undefined} */ slot) => uids[slot ?? 0] ?? 0
    const wanted = areClose(view, slots) ? slots : slots.slice(0, FAR_PAGE)
    const page = await store.readPage(view, wanted, pagePlan.needs)
    if (page === null) return null
    const lastRead = page.isWhole ? Infinity : (page.uids.at(-1) ?? 0)
    const done = wanted.filter((slot) => uidOf(slot) <= lastRead)
    this.finish()
    tellKeywords(this.#session)
    SHARED_WRITER.clear()
    const written = writePage({
      session: this.#session,
      writer: SHARED_WRITER,
      plan: this.#plan,
      pagePlan,
      slots: done,
      page
    })
    let bytes = 0
    for (const column of Object.values(page.columns)) {
      bytes += column.bytes.length
      releaseBuffer(column.bytes)
    }
    bytes = Math.max(bytes, SHARED_WRITER.length)
    if (written < done.length) this.isSomeGone = true
    this.#handOver(SHARED_WRITER)
    if (this.#session.connection.isCongested) await this.#session.connection.drain()
    return { bytes, slots: done.length }
  }

  /**
   * Writes sections of messages by the fast path, and one by one the messages that it does not cover.
   *
   * @param {BodyNeeds} needs
   * @param {readonly number[]} slots
   */
  async writeBodies(needs, slots) {
    const { connection, store } = this.#session
    const { view } = this.#session.requireSelected()
    if (needs.withTrees && !this.#mayBeReady(slots)) {
      for (const slot of slots) await this.#writeSlot(slot)
      return
    }
    for (let next = 0; next < slots.length;) {
      const wanted = slots.slice(next, next + BODIES_A_READ)
      const moreFollow = connection.receiver.bufferedBytes > 0
      const bodies = await store.readBodies(view, wanted, needs, moreFollow)
      for (const body of bodies) {
        const slot = /** @type {number} */ (slots[next++])
        tellKeywords(this.#session)
        if (body === null || !this.#writeBody(body, slot, needs)) {
          await this.#writeSlot(slot)
          this.finish()
        } else if (connection.isCongested) await connection.drain()
        if (next < slots.length && this.#slicer.isSpent) await this.#flush()
      }
    }
  }

  /**
   * @param {readonly number[]} slots
   * @returns {boolean} whether what the fast paths read may be in the file by now
   */
  #mayBeReady(slots) {
    const { contentIds } = this.#session.requireSelected().view
    return slots.length >= MIN_UNKNOWN || slots.every((slot) => (contentIds[slot] ?? 0) > 0)
  }

  /**
   * Nothing is awaited between the beginning of a message and its end, so that one writer serves all sessions.
   *
   * @param {StoredBody | LongBody} body
   * @param {number} slot
   * @param {BodyNeeds} needs
   * @returns {boolean} false: it is damaged, nothing was written
   */
  #writeBody(body, slot, { wholeBytes }) {
    const writer = SHARED_WRITER
    const { items } = this.#plan
    writer.clear()
    writer.begin(this.#session.requireSelected().sequenceOfSlot(slot))
    const writeOther = (/** @type {string} */ kind) => {
      this.#writeViewItem(kind, slot, writer)
    }
    if (body instanceof StoredBody) {
      if (!writeBody(writer, items, body, { wholeBytes, writeOther })) return false
    } else {
      const sendPieces = (/** @type {Buffer[]} */ pieces) => this.#sendPieces(pieces)
      writeLongBody(writer, items, body, { writeOther, sendPieces })
    }
    this.#handOver(writer.end())
    return true
  }

  /** @param {Buffer[]} pieces - of a body, whose memory nobody else uses */
  #sendPieces(pieces) {
    this.#handOver(SHARED_WRITER)
    for (const piece of pieces) this.#session.connection.writeOwned(piece)
  }

  /** @param {number} slot - of a message that is read by itself; its \Seen is not set by it */
  async #writeSlot(slot) {
    const { mailboxId, uids } = this.#session.requireSelected().view
    const uid = /** @type {number} */ (uids[slot])
    const [record] = await this.#session.store.readMessages(mailboxId, [uid], this.#plan.needs)
    if (record === undefined || !(await this.writeRecord(record, slot, false)))
      this.isSomeGone = true
  }

  /** @param {readonly MessageRecord[]} records - that are given to `writeRecord` next, one by one */
  expect(records) {
    this.#expected = records
  }

  /**
   * @param {MessageRecord} record
   * @param {number} slot
   * @param {boolean} isNowSeen - \Seen has been set by this command: the flags are told whether asked for or not
   * @returns {Promise<boolean>} false: the message was expunged meanwhile, nothing was written
   */
  async writeRecord(record, slot, isNowSeen) {
    // Many messages of a page may each take a while to decode, or to make a preview of.
    await this.#slicer.breathe()
    const { store } = this.#session
    const sources = await openSections({ store, slicer: this.#slicer }, this.#plan.items, record)
    if (sources === null || !(await this.#readPreviews(record))) return false
    tellKeywords(this.#session)
    const state = this.#stateOf(slot)
    this.#begin(slot)
    let next = 0
    for (const item of this.#plan.items) {
      if (item.kind === 'SECTION' || isBinary(item)) {
        // Before the first literal, as Dovecot does: some programs take what follows the message for its end.
        if (isNowSeen && next === 0) this.#writeSeen(slot, state)
        await this.#sections.write(item, sources[next++] ?? null)
      } else if (!this.#writeStateItem(item.kind, slot, state))
        writeRecordItem(this.#writer, item.kind, record, this.#previews.get(record) ?? null)
    }
    this.#writer.end()
    if (this.#writer.length >= BATCH_BYTES) await this.#flush()
    return true
  }

  /** Hands over the gathered responses. */
  finish() {
    this.#handOver(this.#writer)
  }

  /** @param {FetchWriter} writer */
  #handOver(writer) {
    writer.handTo((bytes) => this.#session.writeCopied(bytes))
  }

  async #flush() {
    this.finish()
    if (this.#session.connection.isCongested) await this.#session.connection.drain()
    else await nextTurn()
    // Another session may have made a keyword meanwhile.
    tellKeywords(this.#session)
    this.#slicer.begin()
  }

  /** @param {number} slot */
  #begin(slot) {
    this.#writer.begin(this.#session.requireSelected().sequenceOfSlot(slot))
  }

  /**
   * The flags and MODSEQ, which may change while a section goes out. They are told as they were before: a keyword that is made
   * meanwhile could not be announced within the response, and the MODSEQ must be that of the flags.
   *
   * @param {number} slot
   * @returns {MessageState}
   */
  #stateOf(slot) {
    const selected = this.#session.requireSelected()
    return {
      flags: flagsText(selected, this.#session.store.keywords, slot),
      modSeq: /** @type {number} */ (selected.view.modSeqs[slot])
    }
  }

  /**
   * @param {string} kind
   * @param {number} slot
   * @param {MessageState} state
   * @returns {boolean} whether the view has it
   */
  #writeStateItem(kind, slot, { flags, modSeq }) {
    if (kind === 'FLAGS') this.#writer.flags(flags)
    else if (kind === 'MODSEQ') this.#writer.modSeq(modSeq)
    else return this.#writeViewItem(kind, slot, this.#writer)
    return true
  }

  /**
   * @param {string} kind
   * @param {number} slot
   * @param {FetchWriter} writer
   * @returns {boolean} whether the view has it
   */
  #writeViewItem(kind, slot, writer) {
    const selected = this.#session.requireSelected()
    const { view } = selected
    if (kind === 'FLAGS') writer.flags(flagsText(selected, this.#session.store.keywords, slot))
    else if (kind === 'UID') writer.uid(/** @type {number} */ (view.uids[slot]))
    else if (kind === 'MODSEQ') writer.modSeq(/** @type {number} */ (view.modSeqs[slot]))
    else if (kind === 'EMAILID' && view.contentIds[slot])
      writer.emailId(emailIdOf(view.contentIds[slot]))
    else return false
    return true
  }

  /**
   * @param {number} slot
   * @param {MessageState} state
   */
  #writeSeen(slot, state) {
    const has = (/** @type {string} */ kind) => this.#plan.items.some((item) => item.kind === kind)
    // RFC 7162 §3.2.4
    if (!has('UID') && this.#session.enabled.isCondstore) this.#writeStateItem('UID', slot, state)
    if (!has('FLAGS')) this.#writeStateItem('FLAGS', slot, state)
    if (!has('MODSEQ') && this.#session.enabled.isCondstore)
      this.#writeStateItem('MODSEQ', slot, state)
  }

  /**
   * @param {MessageRecord} record - of those that are expected
   * @returns {Promise<boolean>} false when the message has gone
   */
  async #readPreviews(record) {
    const items = this.#plan.items.filter((item) => item.kind === 'PREVIEW')
    if (items.length === 0 || this.#previews.has(record)) return true
    const isLazy = items.every((item) => item.isLazy)
    const at = this.#expected.indexOf(record)
    const records = this.#expected.slice(at, at + PREVIEWS_A_READ)
    try {
      const previews = await this.#session.store.readPreviews(records, { isLazy })
      this.#previews = new Map(
        previews.map((preview, index) => [/** @type {MessageRecord} */ (records[index]), preview])
      )
      return true
    } catch (error) {
      if (isMailError(error, 'MESSAGE_GONE')) return false
      throw error
    }
  }
}
