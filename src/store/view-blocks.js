/**
 * Flags and MODSEQs of a large mailbox once more, packed: the messages of 1,024 UIDs are one compressed row of some hundred
 * bytes (`view_blocks`), because what costs time in opening a mailbox is decrypting and stepping through its rows (100,000
 * messages: 48 ms by rows). `messages` is what holds; a block that is missing is no loss.
 *
 * Invariant: whoever changes or deletes rows of `messages` deletes their blocks in the same transaction. New messages need
 * nothing of that: only what is below a mailbox's UIDNEXT as a whole is packed.
 */
import { prepared } from '../database/statement.js'
import { BlockArena } from './list-blocks.js'
import { messageRowId } from './row-ids.js'
import { compressFrame } from './zstd.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./view-rows.js').Row} Row
 *
 * @typedef {(id: number, modSeq: number, flags: number, keywords: number) => void} OnState - of a row, by messages.id
 *
 * @typedef {object} ViewBlock
 * @property {number} firstId - messages.id of the first UID that can be in it
 * @property {number} modSeq - the highest in it
 * @property {number} messages - how many
 * @property {Buffer} bytes - the columns, decompressed
 */

/** UIDs of one block. The migration knows it too. */
export const BLOCK_UIDS = 1024

const MODSEQ_BYTES = 8
const WORD_BYTES = 4
const STEP_BYTES = 2
const MESSAGE_BYTES = MODSEQ_BYTES + 2 * WORD_BYTES + STEP_BYTES

/** Blocks of one read: well below 1 ms. */
const READ_BLOCKS = 16

/**
 * @param {number} rowId - messages.id
 * @returns {number} view_blocks.id
 */
export const blockOfRow = (rowId) => Math.floor(rowId / BLOCK_UIDS)

/**
 * To be called in the transaction that changes or deletes rows of `messages`.
 *
 * @param {Database} db
 * @param {number} mailboxId
 * @param {Iterable<{ first: number, last: number }>} ranges - their UIDs, ascending; `last` inclusive
 */
export function dropViewBlocks(db, mailboxId, ranges) {
  const remove = prepared(db, 'DELETE FROM view_blocks WHERE id BETWEEN ? AND ?')
  let dropped = -1
  for (const { first, last } of ranges) {
    const lastBlock = blockOfRow(messageRowId(mailboxId, last))
    if (lastBlock === dropped) continue
    remove.run(blockOfRow(messageRowId(mailboxId, first)), lastBlock)
    dropped = lastBlock
  }
}

/** Reads the blocks of one mailbox, one run after the other, into memory that the next run takes again. */
export class ViewBlockReader {
  #arena = new BlockArena()

  /**
   * @param {Database} db
   * @param {{ after: number, end: number }} range - of messages.id; `end` inclusive
   * @returns {{ blocks: ViewBlock[], nextId: number }} the blocks from the row behind `after` on, as far as there is no gap
   *   between them, good until the next call; and where a later one begins, `end` + 1 if none does
   */
  read(db, { after, end }) {
    this.#arena.reset()
    const rows = /** @type {[number, number, number, Buffer][]} */ (
      prepared(
        db,
        `SELECT id, modseq, messages, data FROM view_blocks WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${READ_BLOCKS}`,
        'array'
      ).all(blockOfRow(after + 1), blockOfRow(end))
    )
    /** @type {ViewBlock[]} */
    const blocks = []
    let number = blockOfRow(after + 1)
    for (const [id, modSeq, messages, data] of rows) {
      const firstId = id * BLOCK_UIDS
      if (id !== number) return { blocks, nextId: firstId }
      const bytes = this.#arena.unpack(data, messages * MESSAGE_BYTES)
      // As if it were not there: its rows are.
      if (bytes === null) return { blocks, nextId: Math.min(firstId + BLOCK_UIDS, end + 1) }
      blocks.push({ firstId, modSeq, messages, bytes })
      number++
    }
    return { blocks, nextId: end + 1 }
  }
}

/**
 * @param {ViewBlock} block
 * @param {OnState} onState - called by id
 */
export function tellBlock({ firstId, messages, bytes }, onState) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const flagsAt = messages * MODSEQ_BYTES
  const keywordsAt = flagsAt + messages * WORD_BYTES
  const stepsAt = keywordsAt + messages * WORD_BYTES
  let id = firstId
  let modSeq = 0
  for (let at = 0; at < messages; at++) {
    id += view.getUint16(stepsAt + at * STEP_BYTES, true)
    modSeq += view.getFloat64(at * MODSEQ_BYTES, true)
    const flags = view.getUint32(flagsAt + at * WORD_BYTES, true)
    onState(id, modSeq, flags, view.getUint32(keywordsAt + at * WORD_BYTES, true))
  }
}

/**
 * @param {number} number - view_blocks.id
 * @param {readonly Row[]} rows - all of its messages by id, at least one
 * @returns {ViewBlock}
 */
export function packBlock(number, rows) {
  const firstId = number * BLOCK_UIDS
  const bytes = Buffer.alloc(rows.length * MESSAGE_BYTES)
  const flagsAt = rows.length * MODSEQ_BYTES
  const keywordsAt = flagsAt + rows.length * WORD_BYTES
  const stepsAt = keywordsAt + rows.length * WORD_BYTES
  let lastId = firstId
  let lastModSeq = 0
  let highest = 0
  for (const [at, [id, modSeq, flags, keywords]] of rows.entries()) {
    bytes.writeDoubleLE(modSeq - lastModSeq, at * MODSEQ_BYTES)
    bytes.writeUInt32LE(flags, flagsAt + at * WORD_BYTES)
    bytes.writeUInt32LE(keywords, keywordsAt + at * WORD_BYTES)
    bytes.writeUInt16LE(id - lastId, stepsAt + at * STEP_BYTES)
    lastId = id
    lastModSeq = modSeq
    highest = Math.max(highest, modSeq)
  }
  return { firstId, modSeq: highest, messages: rows.length, bytes }
}

/**
 * @param {Database} db - in the transaction in which the rows were read
 * @param {number} number - view_blocks.id
 * @param {readonly Row[]} rows - all of its messages by id, at least one
 */
export function writeViewBlock(db, number, rows) {
  const { modSeq, messages, bytes } = packBlock(number, rows)
  prepared(
    db,
    'INSERT OR REPLACE INTO view_blocks (id, modseq, messages, data) VALUES (?, ?, ?, ?)'
  ).run(number, modSeq, messages, compressFrame(bytes))
}
