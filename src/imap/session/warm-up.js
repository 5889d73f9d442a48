/**
 * V8 compiles a loop only after it has run for a while. Without this the first client that lists a large mailbox after a start
 * waits twice as long as the next one: so a mailbox that is made up is read and listed before anybody can connect.
 *
 * What V8 has compiled it throws away as soon as something happens that it has not seen happen in a loop that it counted
 * already: then the first client waits as if nothing had been done. So what is rare must happen here all the way through:
 * flags that have not occurred together, a writer that needs room, a message that is \Recent, a MODSEQ that is told.
 * `node --trace-deopt` says what was missed.
 */
import { KeywordTable, SEEN } from '../../store/flags.js'
import { MailboxView } from '../../store/mailbox-view.js'
import { messageRowId } from '../../store/row-ids.js'
import { BLOCK_UIDS, blockOfRow, packBlock } from '../../store/view-blocks.js'
import { readAllRows } from '../../store/view-rows.js'
import { FetchWriter } from '../protocol/compile/fetch.js'
import { SequenceSet } from '../protocol/values/sequence-set.js'
import { BATCH_BYTES } from './fetch-section-writer.js'
import { writeFlagLines } from './flag-lines.js'
import { SelectedMailbox } from './selected-mailbox.js'

/** @import { Row, Source } from '../../store/view-rows.js' */

/** Blocks of messages. */
const BLOCKS = 16
/** Of one read: each is told to a function of its own, as it is later. */
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

/** @returns {Source} the blocks of MAILBOX, as a file would have them */
function madeUpRows() {
  const first = blockOfRow(messageRowId(MAILBOX.id, 0))
  const blocks = Array.from({ length: BLOCKS }, (_, nth) => {
    const number = first + nth
    /** @type {Row[]} */
    const rows = Array.from({ length: BLOCK_UIDS }, (_row, at) => [
      number * BLOCK_UIDS + at,
      nth * BLOCK_UIDS + at + 1,
      flagsOf(nth, at),
      0
    ])
    return packBlock(number, rows)
  })
  const readSettled = async () => {
    const page = blocks.splice(0, PAGE_BLOCKS)
    const { firstId = 0 } = page.at(-1) ?? {}
    return { blocks: page, rows: [], rowCount: 0, last: firstId + BLOCK_UIDS - 1 }
  }
  return { readSettled: /** @type {Source['readSettled']} */ (readSettled) }
}

/**
 * @param {number} nth - of the blocks
 * @param {number} at - of its messages
 * @returns {number} some are read, in runs of any length; and now and then there are flags that have not occurred together
 */
const flagsOf = (nth, at) =>
  at % 64 === 0 ? nth * 2 + Math.floor((at * 2) / BLOCK_UIDS) : (at * at) % 7 < 3 ? SEEN : 0
