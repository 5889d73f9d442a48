/**
 * V8 compiles a loop only after it has run for a while. Without this the first client that lists a large mailbox after a start
 * waits twice as long as the next one: so a mailbox that is made up is read and listed before anybody can connect.
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

/** Blocks of messages. Three times as many take 15 ms more, and the first scan is 2 ms shorter then. */
const BLOCKS = 16
const SCANS = 3

const MAILBOX = {
  id: 1,
  name: 'INBOX',
  uidValidity: 1,
  uidNext: BLOCKS * BLOCK_UIDS,
  highestModSeq: BLOCKS * BLOCK_UIDS
}

/** @returns {Promise<void>} after some 30 ms of processor time */
export async function warmUp() {
  const view = new MailboxView(MAILBOX)
  await readAllRows(madeUpRows(), MAILBOX, view.append.bind(view))
  const selected = new SelectedMailbox({ view, isReadOnly: true, origin: null, onChange: () => {} })
  const all = SequenceSet.parse('1:*')
  const writer = new FetchWriter()
  const line = { withUid: true, withFlags: true, withModSeq: false }
  const keywords = new KeywordTable()
  const options = { selected, keywords, line, writer, enoughBytes: BATCH_BYTES }
  for (let scan = 0; scan < SCANS; scan++) {
    const { slots } = selected.resolve(all, true)
    for (let next = 0; next < slots.length;) {
      next = writeFlagLines(options, slots, next)
      writer.clear()
    }
  }
}

/** @returns {Source} the blocks of MAILBOX, as a file would have them */
function madeUpRows() {
  const first = blockOfRow(messageRowId(MAILBOX.id, 0))
  const blocks = Array.from({ length: BLOCKS }, (_, nth) => {
    const number = first + nth
    const firstId = number * BLOCK_UIDS
    /** @type {Row[]} */
    const rows = Array.from({ length: BLOCK_UIDS }, (_row, at) => [
      firstId + at,
      nth * BLOCK_UIDS + at + 1,
      // Some are read, in runs of any length.
      (at * at) % 7 < 3 ? SEEN : 0,
      0
    ])
    return { firstId, ...packBlock(number, rows) }
  })
  const page = { blocks, rows: [], rowCount: 0, last: messageRowId(MAILBOX.id, MAILBOX.uidNext) }
  return { readSettled: /** @type {Source['readSettled']} */ (async () => page) }
}
