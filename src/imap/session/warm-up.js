/**
 * V8 compiles a loop only after it has run for a while. Without this the first client that lists a large mailbox after a start
 * waits twice as long as the next one: so a mailbox that is made up is read and listed before anybody can connect.
 *
 * V8 throws a compiled loop away as soon as something happens in it that has not happened there before: then the first client
 * waits as if nothing had been done. So rare things must happen here all the way through:
 * flags that have not occurred together, a writer that needs room, a message that is \Recent, a MODSEQ that is told, rows
 * that are not packed, a view that is told once more what comes next.
 * `node --trace-deopt` says what was missed.
 */
import { KeywordTable, SEEN } from '../../store/flags.js'
import { MailboxView } from '../../store/mailbox-view.js'
import { messageRowId } from '../../store/row-ids.js'
import { BLOCK_UIDS, blockOfRow, packBlock } from '../../store/view-blocks.js'
import { readAllRows, stateOf } from '../../store/view-rows.js'
import { FetchWriter } from '../protocol/compile/fetch.js'
import { SequenceSet } from '../protocol/values/sequence-set.js'
import { BATCH_BYTES } from './fetch-section-writer.js'
import { writeFlagLines } from './flag-lines.js'
import { SelectedMailbox } from './selected-mailbox.js'

/** @import { Row, Source } from '../../store/view-rows.js' */

/** The made-up mailbox has so many blocks of messages. */
const BLOCKS = 16
/** One read gives so many blocks: each is told to a function of its own, as it is later. */
const PAGE_BLOCKS = 4
const SCANS = 4

const MAILBOX = {
  id: 1,
  name: 'INBOX',
  uidValidity: 1,
  uidNext: BLOCKS * BLOCK_UIDS,
  highestModSeq: BLOCKS * BLOCK_UIDS
}

/** @returns {Promise<void>} after some 40 ms, and as much on V8's own threads */
export async function warmUp() {
  const view = new MailboxView(MAILBOX)
  view.uidNext = MAILBOX.uidNext
  view.highestModSeq = MAILBOX.highestModSeq
  await readAllRows(madeUpRows(), MAILBOX, view)
  const [plain, recent] = [select(view), select(view)]
  recent.recent.add(MAILBOX.uidNext / 2, MAILBOX.uidNext)
  const all = SequenceSet.parse('1:*')
  const keywords = new KeywordTable()
  for (let scan = 0; scan < SCANS; scan++) {
    const { slots } = plain.resolve(all, true)
    for (let next = 0, batch = scan; next < slots.length; batch++) {
      const selected = batch % 2 === 0 ? plain : recent
      const line = { withUid: true, withFlags: true, withModSeq: batch % 4 === 0 }
      const writer = new FetchWriter()
      const options = { selected, keywords, line, writer, enoughBytes: BATCH_BYTES }
      next = writeFlagLines(options, slots, next)
    }
  }
}

/**
 * @param {MailboxView} view
 * @returns {SelectedMailbox}
 */
const select = (view) =>
  new SelectedMailbox({ view, isReadOnly: true, origin: null, onChange: () => {} })

/** @returns {Source} the messages of MAILBOX, as a file would have them: every other page in blocks */
function madeUpRows() {
  const first = blockOfRow(messageRowId(MAILBOX.id, 0))
  let next = first
  const readSettled = async () => {
    const numbers = Array.from({ length: PAGE_BLOCKS }, () => next++)
    const last = next * BLOCK_UIDS - 1
    const rowsOf = (/** @type {number} */ number) => madeUpBlock(number, number - first)
    if (((next - first) / PAGE_BLOCKS) % 2 === 1) {
      const blocks = numbers.map((number) => packBlock(number, rowsOf(number)))
      return { blocks, rows: [], rowCount: 0, last }
    }
    const read = numbers.flatMap(rowsOf)
    const rows = { ids: asRead(read, ([id]) => id), states: asRead(read, stateOf) }
    return { blocks: [], rows, rowCount: read.length, last }
  }
  return { readSettled: /** @type {Source['readSettled']} */ (readSettled) }
}

/**
 * @param {number} number - view_blocks.id
 * @param {number} nth - of the blocks
 * @returns {Row[]}
 */
const madeUpBlock = (number, nth) =>
  Array.from({ length: BLOCK_UIDS }, (_, at) => [
    number * BLOCK_UIDS + at,
    nth * BLOCK_UIDS + at + 1,
    flagsOf(nth, at),
    0
  ])

/**
 * @param {readonly Row[]} rows
 * @param {(row: Row) => number} numberOf
 * @returns {number[]} to V8 an array that may hold anything, as the binding makes them
 */
function asRead(rows, numberOf) {
  /** @type {any[]} */
  const numbers = [null]
  numbers.pop()
  for (const row of rows) numbers.push(numberOf(row))
  return numbers
}

/**
 * @param {number} nth - of the blocks
 * @param {number} at - of its messages
 * @returns {number} some are read, in runs of any length; and now and then there are flags that have not occurred together
 */
const flagsOf = (nth, at) =>
  at % 64 === 0 ? nth * 2 + Math.floor((at * 2) / BLOCK_UIDS) : (at * at) % 7 < 3 ? SEEN : 0
