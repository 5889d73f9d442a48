/**
 * Packs the flags and MODSEQs of large mailboxes for their next opening (view-blocks.js), in the runs of the search indexer.
 */
import { prepared } from '../database/statement.js'
import { messageRowId } from './row-ids.js'
import {
  BLOCK_UIDS,
  ViewBlockReader,
  blockOfRow,
  tellBlock,
  writeViewBlock
} from './view-blocks.js'
import { readStateRows } from './view-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./pack-lists.js').PackPort} PackPort
 *
 * @typedef {object} LargeMailbox
 * @property {number} id
 * @property {number} uidNext
 */

/**
 * So much of a mailbox is left to be read by rows, messages: 4 ms at its opening. Flags change all the time where people
 * read their mail, and each time that block would be packed anew.
 */
export const FEW_ROWS = 8 * BLOCK_UIDS

/** Where fewer UIDs than one of so many have a message, blocks are no less to read than rows. */
const SPARSE_UIDS = 256

/** So many blocks are worth the work. */
const FEW_BLOCKS = FEW_ROWS / BLOCK_UIDS

/** Blocks of one transaction: some 4 ms. */
const STEP_BLOCKS = 4

/**
 * @param {Database} db
 * @returns {boolean} whether there is a mailbox that is worth packing
 */
export const hasPackableViews = (db) =>
  largeMailboxes(db).some((mailbox) => findUnpacked(db, mailbox, FEW_BLOCKS).length === FEW_BLOCKS)

/**
 * Packs what is worth it.
 *
 * @param {PackPort} port
 * @returns {Promise<void>}
 */
export async function packViews({ read, write }) {
  for (const mailbox of await read(largeMailboxes)) {
    const numbers = await read((db) => findUnpacked(db, mailbox))
    if (numbers.length < FEW_BLOCKS) continue
    for (let at = 0; at < numbers.length; at += STEP_BLOCKS)
      await write((db) => {
        for (const number of numbers.slice(at, at + STEP_BLOCKS)) writeBlock(db, mailbox.id, number)
      })
  }
}

/**
 * @param {Database} db
 * @returns {LargeMailbox[]}
 */
function largeMailboxes(db) {
  return /** @type {LargeMailbox[]} */ (
    prepared(
      db,
      `SELECT id, uid_next AS uidNext FROM mailboxes
       WHERE message_count >= ${FEW_ROWS} AND message_count * ${SPARSE_UIDS} >= uid_next`
    ).all()
  )
}

/**
 * Jumps from one gap to the next message: UIDs may lie far apart.
 *
 * @param {Database} db
 * @param {LargeMailbox} mailbox
 * @param {number} [limit] - as many are enough
 * @returns {number[]} blocks with messages that are not packed, and to which nothing can come any more
 */
function findUnpacked(db, { id, uidNext }, limit = Infinity) {
  const end = blockOfRow(messageRowId(id, uidNext))
  const start = blockOfRow(messageRowId(id, 0))
  const packed = new Set(
    /** @type {number[]} */ (
      prepared(db, 'SELECT id FROM view_blocks WHERE id >= ? AND id < ?', 'value').all(start, end)
    )
  )
  const next = prepared(
    db,
    'SELECT id FROM messages WHERE id >= ? AND id < ? ORDER BY id LIMIT 1',
    'value'
  )
  const unpacked = []
  for (let number = start; number < end && unpacked.length < limit; number++) {
    if (packed.has(number)) continue
    const rowId = next.get(number * BLOCK_UIDS, end * BLOCK_UIDS)
    if (rowId === undefined) break
    number = blockOfRow(/** @type {number} */ (rowId))
    if (!packed.has(number)) unpacked.push(number)
  }
  return unpacked
}

/**
 * @param {Database} db - in a transaction
 * @param {number} mailboxId
 * @param {number} number
 */
function writeBlock(db, mailboxId, number) {
  // Deleted meanwhile: the sweep takes away what is left of it, and might be through.
  if (prepared(db, 'SELECT 1 FROM mailboxes WHERE id = ?').get(mailboxId) === undefined) return
  const rows = readStateRows(db, rangeOf(number))
  if (rows.length > 0) writeViewBlock(db, number, rows)
}

/**
 * @param {number} number
 * @returns {import('./view-rows.js').Range}
 */
function rangeOf(number) {
  const after = number * BLOCK_UIDS - 1
  return { after, end: after + BLOCK_UIDS }
}

/**
 * @param {Database} db - in a snapshot
 * @returns {string[]} blocks that say something else than their rows, or that cannot be read
 */
export function viewBlockProblems(db) {
  const numbers = /** @type {number[]} */ (
    prepared(db, 'SELECT id FROM view_blocks ORDER BY id', 'value').all()
  )
  const reader = new ViewBlockReader()
  return numbers
    .filter((number) => {
      const range = rangeOf(number)
      const [block] = reader.read(db, range).blocks
      /** @type {import('./view-rows.js').Row[]} */
      const packed = []
      if (block) tellBlock(block, (...row) => packed.push(row))
      const rows = readStateRows(db, range)
      const highest = Math.max(...rows.map(([, modSeq]) => modSeq))
      return block?.modSeq !== highest || JSON.stringify(packed) !== JSON.stringify(rows)
    })
    .map((number) => `packed flags of messages from ${number * BLOCK_UIDS} on`)
}
