/**
 * The fast path of FETCH for lists over a range of messages, which clients ask of whole mailboxes. Flags come from the view,
 * one kind of stored bytes from a page that the store has put together; nothing is awaited and no object is made for a
 * message.
 */
import { WHOLE_HEADER, chooseFields } from '../../mime/field-choice.js'
import { MAX_SECTIONS, isTopHeader } from './fetch-plan.js'
import { flagsText } from './flag-lines.js'
import { emailIdOf } from './object-id.js'

/** @import { FieldChoice } from '../../mime/field-choice.js' */
/** @import { Section } from '../../mime/section.js' */
/** @import { ColumnKind, MessagePage, PageColumn, PageNeeds } from '../../store/read-page.js' */
/** @import { FetchItem } from '../protocol/values/fetch-item.js' */
/** @import { FetchWriter } from '../protocol/compile/fetch.js' */
/** @import { FetchPlan } from './fetch-plan.js' */
/** @import { Session } from './session.js' */

/**
 * @typedef {object} PagePlan
 * @property {PageNeeds} needs
 * @property {ReadonlyMap<FetchItem, FieldChoice>} choices - of header fields, by the section that asks for them
 * @property {boolean} isCertain - whether lists tell all of them, whatever other fields a message has
 */

/** @type {Readonly<Partial<Record<FetchItem['kind'], ColumnKind | null>>>} */
const COLUMNS = {
  UID: null,
  FLAGS: null,
  MODSEQ: null,
  INTERNALDATE: null,
  'RFC822.SIZE': null,
  EMAILID: null,
  PREVIEW: null,
  ENVELOPE: 'envelope',
  BODYSTRUCTURE: 'bodyStructure'
}

/**
 * @param {FetchPlan} plan
 * @returns {PagePlan | null} null when it asks for something that lists are not made of
 */
export function planPages({ items, setsSeen }) {
  if (setsSeen) return null
  /** @type {Set<ColumnKind>} */
  const columns = new Set()
  /** @type {Map<FetchItem, FieldChoice>} */
  const choices = new Map()
  for (const item of items) {
    if (item.kind === 'SECTION') {
      const choice = item.partial === null && isTopHeader(item) ? choiceOf(item.section) : null
      if (choice === null) return null
      choices.set(item, choice)
      columns.add('fields')
      for (const kind of choice.apart) columns.add(kind)
    } else {
      const column = COLUMNS[item.kind]
      if (column === undefined) return null
      if (column !== null) columns.add(column)
    }
  }
  if (choices.size > MAX_SECTIONS) return null
  const withDates = items.some(({ kind }) => kind === 'INTERNALDATE')
  const ofFields = [...choices.values()]
  return {
    needs: { withDates, columns: [...columns], choices: ofFields, previews: previewsOf(items) },
    choices,
    isCertain: ofFields.every(({ isCertain }) => isCertain)
  }
}

/**
 * @param {Section} section - of the message's own header
 * @returns {FieldChoice | null} null: lists do not tell it
 */
function choiceOf({ text, fields }) {
  if (text === 'HEADER') return WHOLE_HEADER
  return text === 'HEADER.FIELDS' ? chooseFields(fields) : null
}

/**
 * @param {readonly FetchItem[]} items
 * @returns {PageNeeds['previews']}
 */
function previewsOf(items) {
  const asked = items.filter((item) => item.kind === 'PREVIEW')
  if (asked.length === 0) return 'none'
  return asked.every(({ isLazy }) => isLazy) ? 'kept' : 'all'
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
  const { choices } = pagePlan
  const { uids, sizes, contentIds, dates, zones, columns, previews } = page
  const { envelope = EMPTY, bodyStructure = EMPTY, fields = EMPTY } = columns
  const { received = EMPTY, signatures = EMPTY, rest = EMPTY } = columns
  /** @type {FieldChoice | undefined} */
  let choice
  let row = 0
  // One closure and these objects for all messages.
  const apart = {
    received: { bytes: received.bytes, at: 0 },
    signatures: { bytes: signatures.bytes, at: 0 },
    rest: { bytes: rest.bytes, at: 0 }
  }
  const copyFields = (/** @type {Buffer} */ target, /** @type {number} */ to) => {
    apart.received.at = received.starts[row] ?? 0
    apart.signatures.at = signatures.starts[row] ?? 0
    apart.rest.at = rest.starts[row] ?? 0
    choice?.copy(fields.bytes, fields.starts[row] ?? 0, apart, target, to)
  }
  let written = 0
  let next = 0
  for (; row < uids.length; row++) {
    const uid = at(uids, row)
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
          case 'EMAILID':
            writer.emailId(emailIdOf(at(contentIds, row)))
            break
          case 'PREVIEW':
            writer.preview(previews[row] ?? null)
            break
          case 'ENVELOPE':
            writeStructure(writer, item.kind, envelope, row)
            break
          case 'BODYSTRUCTURE':
            writeStructure(writer, item.kind, bodyStructure, row)
            break
          case 'SECTION':
            choice = /** @type {FieldChoice} */ (choices.get(item))
            writer.sectionDirect(
              item,
              choice.sizeOf(fields.bytes, at(fields.starts, row)),
              copyFields
            )
        }
      }
      writer.end()
      written++
    }
  }
  // Header fields are as they came and may hold a NUL; all else in a list was made by us.
  if (choices.size > 0) writer.maskNul()
  return written
}

/** @type {PageColumn} */
const EMPTY = { starts: [], bytes: Buffer.alloc(0) }

/**
 * @param {FetchWriter} writer
 * @param {'ENVELOPE' | 'BODYSTRUCTURE'} kind
 * @param {PageColumn} column
 * @param {number} row
 */
function writeStructure(writer, kind, { starts, bytes }, row) {
  writer.structureWithin(kind, bytes, at(starts, row), at(starts, row + 1))
}

/**
 * @param {ArrayLike<number>} numbers
 * @param {number} index - within them
 * @returns {number}
 */
const at = (numbers, index) => /** @type {number} */ (numbers[index])
