/**
 * Moves what lists are made of from rows into blocks, a while after it has come: a message that comes alone is cheapest as
 * a row at the end of its table, a mailbox is cheapest to list and to keep in blocks.
 *
 * Invariant: what is moved is deleted where it was in the same transaction, so that readers find it in one of the places.
 * Whoever finds it in neither makes it again from the content.
 */
import { isMailError } from '../errors.js'
import { tellsOthers } from '../mime/header-fields.js'
import { APART_KINDS } from '../mime/listed-fields.js'
import { BUILDER_VERSION, metaBytes } from '../mime/message-meta.js'
import { prepared } from '../database/statement.js'
import {
  BLOCK_CONTENTS,
  MAX_ENTRY_BYTES,
  blockOf,
  placeOf,
  readBlock,
  writeBlock
} from './list-blocks.js'
import { APART_TABLES, rebuildMeta, writeMetas } from './meta-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./list-blocks.js').BlockKind} BlockKind
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 * @typedef {(Buffer | null)[]} Entries - by place
 *
 * @typedef {object} PackPort
 * @property {<T>(work: (db: Database) => T) => Promise<T>} read
 * @property {<T>(work: (db: Database) => T) => Promise<T>} write - in a transaction
 */

/** To be raised when all is to be gone through anew, because more of what is found there has to be made again. */
const PACKING = 1

/** What `list_packing` has as its version: higher when either is, and than the BUILDER_VERSION that stood there before. */
const PACKING_VERSION = BUILDER_VERSION * 1000 + PACKING

/**
 * Contents that a block must be behind the newest one: those that came at the same time may not be complete yet, and what
 * was computed from the last of them may be on its way.
 */
const LAG_CONTENTS = 128

/** Blocks of one transaction: some 4 ms. */
const STEP_BLOCKS = 4

/** What is made again of so many messages is written together, some 2 ms; or of so many bytes. */
const MADE_TOGETHER = 32
const MADE_BYTES = 256 * 1024

/** Blocks with rows that came too late for the first time, in one run. */
const LATE_BLOCKS = 256

/**
 * @param {Database} db
 * @param {number} most - that are counted
 * @returns {number} blocks that can be packed now
 */
export function countPackable(db, most) {
  const { through, newest } = readProgress(db)
  return findBlocks(db, { from: through, end: newest - LAG_CONTENTS, most }).length
}

/**
 * Packs what can be packed.
 *
 * @param {PackPort} port
 * @returns {Promise<void>}
 */
export async function packLists({ read, write }) {
  while (await packNext({ read, write }));
  for (const number of await read(findLateBlocks)) await packBlocks({ read, write }, [number])
}

/**
 * @param {PackPort} port
 * @returns {Promise<boolean>} whether there may be more
 */
async function packNext(port) {
  const numbers = await port.read((db) => {
    const { through, newest } = readProgress(db)
    return findBlocks(db, { from: through, end: newest - LAG_CONTENTS, most: STEP_BLOCKS })
  })
  const last = numbers.at(-1)
  if (last === undefined) return false
  await packBlocks(port, numbers, (last + 1) * BLOCK_CONTENTS)
  return true
}

/**
 * @param {Database} db
 * @returns {{ through: number, newest: number }} contents.id
 */
function readProgress(db) {
  const { builderVersion, through } = /** @type {{ builderVersion: number, through: number }} */ (
    prepared(db, 'SELECT builder_version AS builderVersion, through FROM list_packing').get()
  )
  const newest = prepared(db, 'SELECT max(id) FROM contents', 'value').get()
  return {
    // What older code has packed is made again.
    through: builderVersion < PACKING_VERSION ? 0 : through,
    newest: /** @type {number | null} */ (newest) ?? 0
  }
}

/**
 * @param {Database} db
 * @param {object} range
 * @param {number} range.from - contents.id
 * @param {number} range.end - contents from here on are too new
 * @param {number} range.most - blocks
 * @returns {number[]} the next blocks that have contents
 */
function findBlocks(db, { from, end, most }) {
  const next = prepared(db, 'SELECT id FROM contents WHERE id >= ? ORDER BY id LIMIT 1', 'value')
  const numbers = []
  for (let at = from; numbers.length < most;) {
    const id = /** @type {number | undefined} */ (next.get(at))
    if (id === undefined) break
    const number = blockOf(id)
    at = (number + 1) * BLOCK_CONTENTS
    if (at > end) break
    numbers.push(number)
  }
  return numbers
}

/**
 * A row that older code made, and that is still there where all was packed anew, is of a message that cannot be read: to try
 * again and again would be in vain.
 *
 * @param {Database} db
 * @returns {number[]} blocks that have been packed, and have rows since
 */
function findLateBlocks(db) {
  return /** @type {number[]} */ (
    prepared(
      db,
      `SELECT DISTINCT content_id / ${BLOCK_CONTENTS} FROM message_envelopes
       WHERE content_id < (SELECT through FROM list_packing) AND builder_version >= ? AND length(envelope) <= ${MAX_ENTRY_BYTES}
       LIMIT ${LATE_BLOCKS}`,
      'value'
    ).all(BUILDER_VERSION)
  )
}

/**
 * @param {PackPort} port
 * @param {readonly number[]} numbers
 * @param {number} [through] - contents.id below which all is packed then
 */
async function packBlocks({ read, write }, numbers, through) {
  await remake(
    { read, write },
    await read((db) => numbers.flatMap((number) => findMissing(db, number)))
  )
  await write((db) => {
    for (const number of numbers) packBlock(db, number)
    if (through === undefined) return
    prepared(db, 'UPDATE list_packing SET builder_version = ?, through = ?').run(
      PACKING_VERSION,
      through
    )
  })
}

/**
 * @param {Database} db
 * @param {number} number - of a block
 * @returns {number[]} contents of which nothing is there that is of use, or fields that older code listed
 */
function findMissing(db, number) {
  const first = number * BLOCK_CONTENTS
  const ids = /** @type {number[]} */ (
    prepared(
      db,
      `SELECT c.id FROM contents c LEFT JOIN message_envelopes e ON e.content_id = c.id AND e.builder_version >= ?
       WHERE c.id BETWEEN ? AND ? AND c.hash IS NOT NULL AND e.content_id IS NULL`,
      'value'
    ).all(BUILDER_VERSION, first, first + BLOCK_CONTENTS - 1)
  )
  const block = ids.length === 0 ? null : readBlock(db, 'envelope', number)
  const lacking = block === null ? ids : ids.filter((id) => !block.has(placeOf(id)))
  return [...new Set([...lacking, ...findUntelling(db, number)])]
}

/**
 * @param {Database} db
 * @param {number} number - of a block
 * @returns {number[]} contents whose fields do not tell which others there are (mime/header-fields.js)
 */
function findUntelling(db, number) {
  const first = number * BLOCK_CONTENTS
  const rows = /** @type {[number, Buffer][]} */ (
    prepared(
      db,
      `SELECT content_id, fields FROM message_fields
       WHERE content_id BETWEEN ? AND ? AND builder_version >= ? AND fields IS NOT NULL`,
      'array'
    ).all(first, first + BLOCK_CONTENTS - 1, BUILDER_VERSION)
  )
  const newest = new Map(rows)
  const block = readBlock(db, 'fields', number)
  if (block !== null)
    for (let place = 0; place < BLOCK_CONTENTS; place++) {
      const entry = block.entry(place)
      if (entry !== null && !newest.has(first + place)) newest.set(first + place, entry)
    }
  return [...newest].flatMap(([id, fields]) => (tellsOthers(fields) ? [] : [id]))
}

/**
 * @param {PackPort} port
 * @param {readonly number[]} contentIds
 */
async function remake({ read, write }, contentIds) {
  /** @type {Map<number, MessageMeta>} */
  const made = new Map()
  let bytes = 0
  const writeMade = async () => {
    if (made.size > 0) await write((db) => writeMetas(db, made))
    made.clear()
    bytes = 0
  }
  for (const contentId of contentIds) {
    const meta = await rebuildIfReadable(read, contentId)
    if (meta === null) continue
    made.set(contentId, meta)
    bytes += metaBytes(meta)
    if (made.size >= MADE_TOGETHER || bytes >= MADE_BYTES) await writeMade()
  }
  await writeMade()
}

/**
 * @param {PackPort['read']} read
 * @param {number} contentId
 * @returns {Promise<MessageMeta | null>} null: it is gone meanwhile, or cannot be read; whoever asks for that message hears of it
 */
async function rebuildIfReadable(read, contentId) {
  try {
    return await rebuildMeta(read, contentId)
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE') || isMailError(error, 'ACCOUNT_DAMAGED')) return null
    throw error
  }
}

/**
 * @param {Database} db
 * @param {number} number
 */
function packBlock(db, number) {
  const packing = new Packing(db, number)
  packing.pack(['envelope'], 'SELECT content_id, envelope FROM message_envelopes', [
    'message_envelopes'
  ])
  packing.pack(
    ['bodyStructure', 'partTree'],
    'SELECT content_id, body_structure, part_tree FROM message_structures',
    ['message_structures']
  )
  // A message that has its fields in a block has the lines that stand apart there, or none.
  const apart = APART_KINDS.map((kind) => APART_TABLES[kind])
  packing.pack(
    ['fields', ...APART_KINDS],
    `SELECT content_id, ${['message_fields.fields', ...apart.map((table) => `${table}.lines`)].join()}
     FROM message_fields ${apart.map((table) => `LEFT JOIN ${table} USING (content_id)`).join(' ')}`,
    ['message_fields', ...apart]
  )
}

/** One block of each kind. */
class Packing {
  #db
  #number
  #first
  #last
  /** @type {ReadonlySet<number>} */
  #present

  /**
   * @param {Database} db
   * @param {number} number
   */
  constructor(db, number) {
    this.#db = db
    this.#number = number
    this.#first = number * BLOCK_CONTENTS
    this.#last = this.#first + BLOCK_CONTENTS - 1
    this.#present = new Set(
      /** @type {number[]} */ (
        prepared(
          db,
          'SELECT id FROM contents WHERE id BETWEEN ? AND ? AND hash IS NOT NULL',
          'value'
        ).all(this.#first, this.#last)
      )
    )
  }

  /**
   * Moves what goes together: all of a content or none, which is so where a piece is too long or is not kept.
   *
   * @param {readonly BlockKind[]} kinds - any but the first may be NULL
   * @param {string} select - content id and a column of each kind, from tables with a builder_version
   * @param {readonly string[]} tables - that the rows are deleted from
   */
  pack(kinds, select, tables) {
    const db = this.#db
    const blocks = kinds.map((kind) => this.#entriesOf(kind))
    const rows = /** @type {[number, ...(Buffer | null)[]][]} */ (
      prepared(
        db,
        `${select} WHERE content_id BETWEEN ? AND ? AND builder_version >= ?`,
        'array'
      ).all(this.#first, this.#last, BUILDER_VERSION)
    )
    const removals = tables.map((table) =>
      prepared(db, `DELETE FROM ${table} WHERE content_id = ?`)
    )
    for (const [contentId, ...entries] of rows) {
      const isMoved = entries[0] !== null && entries.every(isShort)
      for (const [index, entry] of entries.entries()) {
        const block = /** @type {Entries} */ (blocks[index])
        // What the block has of a row that stays is older, and would be found before it.
        block[placeOf(contentId)] = isMoved ? entry : null
      }
      if (isMoved) for (const removal of removals) removal.run(contentId)
    }
    for (const [index, kind] of kinds.entries())
      writeBlock(db, kind, this.#number, /** @type {Entries} */ (blocks[index]))
  }

  /**
   * @param {BlockKind} kind
   * @returns {Entries} of the block as it is, without those of contents that have gone
   */
  #entriesOf(kind) {
    const block = readBlock(this.#db, kind, this.#number)
    return Array.from({ length: BLOCK_CONTENTS }, (_, place) =>
      block !== null && this.#present.has(this.#first + place) ? block.entry(place) : null
    )
  }
}

/**
 * @param {Buffer | null} entry
 * @returns {boolean} whether it may go into a block
 */
const isShort = (entry) => entry === null || entry.length <= MAX_ENTRY_BYTES
