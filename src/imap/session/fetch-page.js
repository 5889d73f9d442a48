/**
 * The fast way of FETCH: lists over a range of messages, which clients ask of whole mailboxes. Flags come from the view,
 * one kind of stored bytes from a page that the store has put together; nothing is awaited and no object is made for a
 * message.
 */
import { chooseFields } from '../../mime/header-fields.js'
import { isTopHeader } from './fetch-plan.js'
import { flagsText } from './flag-lines.js'

/** @import { FieldChoice } from '../../mime/header-fields.js' */
/** @import { MessagePage, PageNeed } from '../../store/read-page.js' */
/** @import { FetchWriter } from '../protocol/compile/fetch.js' */
/** @import { FetchPlan } from './fetch-plan.js' */
/** @import { Session } from './session.js' */

/**
 * @typedef {object} PagePlan
 * @property {PageNeed} need
 * @property {boolean} withDates - whether INTERNALDATE is asked for
 * @property {FieldChoice | null} choice - of header fields
 */

const VIEW_AND_ROW = new Set(['UID', 'FLAGS', 'MODSEQ', 'INTERNALDATE', 'RFC822.SIZE'])

/**
 * @param {FetchPlan} plan
 * @returns {PagePlan | null} null when it asks for something else, or for two kinds of stored bytes
 */
export function planPages({ items, setsSeen }) {
  if (setsSeen) return null
  /** @type {PagePlan} */
  const plan = {
    need: 'row',
    withDates: items.some(({ kind }) => kind === 'INTERNALDATE'),
    choice: null
  }
  for (const item of items) {
    const { kind } = item
    if (VIEW_AND_ROW.has(kind)) continue
    if (plan.need !== 'row') return null
    if (kind === 'ENVELOPE') plan.need = 'envelope'
    else if (kind === 'BODYSTRUCTURE') plan.need = 'bodyStructure'
    else if (kind === 'SECTION' && isTopHeader(item) && item.partial === null) {
      if (item.section.text !== 'HEADER.FIELDS') return null
      plan.choice = chooseFields(item.section.fields)
      if (plan.choice === null) return null
      plan.need = plan.choice.needsReceived ? 'fieldsAndReceived' : 'fields'
    } else return null
  }
  return plan
}

/**
 * @param {object} options
 * @param {Session} options.session
 * @param {FetchWriter} options.writer
 * @param {FetchPlan} options.plan
 * @param {PagePlan} options.pagePlan
 * @param {readonly number[]} options.slots - of the messages, ascending
 * @param {MessagePage} options.page - it may hold others too, and may lack some
 * @returns {number} how many messages were written
 */
export function writePage({ session, writer, plan, pagePlan, slots, page }) {
  const selected = session.requireSelected()
  const { view } = selected
  const { items } = plan
  const { choice } = pagePlan
  const { uids, sizes, dates, zones, lengths, bytes, received } = page
  const cursor = { at: 0, receivedAt: 0 }
  // One closure for all messages.
  const copyFields = (/** @type {Buffer} */ target, /** @type {number} */ to) => {
    choice?.copy(bytes, cursor.at, received, cursor.receivedAt, target, to)
  }
  let written = 0
  let next = 0
  for (let row = 0; row < uids.length; row++) {
    const uid = /** @type {number} */ (uids[row])
    const length = /** @type {number} */ (lengths[row])
    while (next < slots.length && at(view.uids, at(slots, next)) < uid) next++
    const slot = slots[next]
    if (slot !== undefined && view.uids[slot] === uid) {
      writer.begin(selected.sequenceOfSlot(slot))
      for (const item of items) {
        switch (item.kind) {
          case 'UID':
            writer.uid(uid)
            break
          case 'FLAGS':
            writer.flags(flagsText(selected, session.store.keywords, slot))
            break
          case 'MODSEQ':
            writer.modSeq(at(view.modSeqs, slot))
            break
          case 'INTERNALDATE':
            writer.internalDate({ epochSeconds: at(dates, row), zoneMinutes: at(zones, row) })
            break
          case 'RFC822.SIZE':
            writer.size(at(sizes, row))
            break
          case 'ENVELOPE':
          case 'BODYSTRUCTURE':
            writer.structureWithin(item.kind, bytes, cursor.at, cursor.at + length)
            break
          case 'SECTION':
            writer.sectionDirect(item, choice?.sizeOf(bytes, cursor.at) ?? 0, copyFields)
        }
      }
      writer.end()
      written++
    }
    if (choice?.needsReceived) cursor.receivedAt += choice.receivedBytes(bytes, cursor.at)
    cursor.at += length
  }
  return written
}

/**
 * @param {ArrayLike<number>} numbers
 * @param {number} index - within them
 * @returns {number}
 */
const at = (numbers, index) => /** @type {number} */ (numbers[index])
