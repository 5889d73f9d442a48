/**
 * Merges segments into one, step by step, so that there are never many to be asked; what has been deleted stays behind.
 * Sizes grow by a factor, so that a content is written again only a few times.
 */
import { prepared } from '../../database/statement.js'
import { MailError } from '../../errors.js'
import { CursorHeap } from './cursor-heap.js'
import { PostingList } from './postings.js'
import { SegmentCursor } from './segment-cursor.js'
import { TERM_CLASS } from './segment-format.js'
import {
  areLive,
  completeSegment,
  deleteSomeBlocks,
  hasLeftSegments,
  insertBlocks,
  insertSegment,
  isUnfinished,
  leaveSegments,
  readSegments
} from './segment-rows.js'
import { SegmentWriter } from './segment-writer.js'
import { MAX_RANGE } from './segment-batch.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./segment-rows.js').SegmentRow} SegmentRow
 *
 * @typedef {object} StepPort - how a merge reaches the file: in a thread, or in slices on the event loop
 * @property {<T>(work: (db: Database) => T) => Promise<T>} read
 * @property {<T>(work: (db: Database) => T) => Promise<T>} write - in one transaction
 */

/** So many segments of one level become one of the next; a level has so many times the contents of the one below. */
const FAN = 4

/** Fewer new contents are left to the merges that come with time. */
const MIN_COMPACTED = 1000

/** A compaction pays when it writes at most this many times what has come since. */
const MAX_REWRITTEN = 8

/** Terms between two breaths: some milliseconds. */
const STEP_TERMS = 500

/** Blocks that are written in one transaction: some 20 ms. */
const WRITTEN_BLOCKS = 64

/**
 * @param {readonly SegmentRow[]} rows
 * @returns {SegmentRow[]} the segments that should become one; none when there are few enough
 */
export function chooseMerge(rows) {
  /** @type {Map<number, SegmentRow[]>} */
  const levels = new Map()
  for (const row of rows) {
    const level = Math.floor(Math.log(Math.max(1, row.contentCount)) / Math.log(FAN))
    const group = levels.get(level) ?? []
    levels.set(level, group)
    if (group.length === 0 || spanOf([...group, row]) < MAX_RANGE) group.push(row)
  }
  const full = [...levels].filter(([, group]) => group.length >= FAN)
  full.sort(([left], [right]) => left - right)
  return full[0]?.[1] ?? []
}

/**
 * @param {readonly SegmentRow[]} rows
 * @returns {number} content ids from the lowest to the highest
 */
const spanOf = (rows) =>
  Math.max(...rows.map(({ last }) => last)) - Math.min(...rows.map(({ base }) => base))

/**
 * @param {readonly SegmentRow[]} rows
 * @returns {SegmentRow[][]} all of them, in groups that one segment each can take
 */
function groupsInRange(rows) {
  /** @type {SegmentRow[][]} */
  const groups = []
  for (const row of [...rows].sort((left, right) => left.base - right.base)) {
    const group = groups[groups.length - 1]
    if (group && spanOf([...group, row]) < MAX_RANGE) group.push(row)
    else groups.push([row])
  }
  return groups
}

/**
 * After many contents have come, one more merge makes each later search ask few segments.
 *
 * @param {readonly SegmentRow[]} rows
 * @param {number} newContents - that have come since the last one
 * @returns {SegmentRow[]} those that should become one, the small ones first; none when it would not pay
 */
export function chooseCompaction(rows, newContents) {
  if (newContents < MIN_COMPACTED) return []
  const chosen = [...rows].sort((left, right) => left.contentCount - right.contentCount)
  while (contentsOf(chosen) > newContents * MAX_REWRITTEN) chosen.pop()
  // A segment that holds most of these contents already is not written again.
  const largest = chosen.at(-1)
  if (largest && largest.contentCount * 2 > contentsOf(chosen)) chosen.pop()
  return chosen.length > 1 && spanOf(chosen) < MAX_RANGE ? chosen : []
}

/**
 * @param {readonly SegmentRow[]} rows
 * @returns {number}
 */
const contentsOf = (rows) => rows.reduce((sum, { contentCount }) => sum + contentCount, 0)

/**
 * Merges until there are few segments, and deletes what that leaves.
 *
 * @param {StepPort} port
 * @param {object} options
 * @param {number} options.maxContents - a merge of more is not begun
 * @param {boolean} [options.all] - merges everything first, because much has been deleted
 * @param {number} [options.newContents] - that have come in the same job
 * @returns {Promise<void>}
 */
export async function mergeSegments(port, { maxContents, all = false, newContents = 0 }) {
  let rows = await port.read(readSegments)
  const first = all ? groupsInRange(rows) : [chooseCompaction(rows, newContents)]
  for (const group of first) if (group.length > 0) await mergeOne(port, group)
  if (first.length > 0) rows = await port.read(readSegments)
  for (;;) {
    const group = chooseMerge(rows)
    if (group.length === 0 || contentsOf(group) > maxContents) break
    await mergeOne(port, group)
    rows = await port.read(readSegments)
  }
  while (await port.read(hasLeftSegments)) await port.write(deleteSomeBlocks)
}

/**
 * @param {StepPort} port
 * @param {readonly SegmentRow[]} rows
 * @throws {import('../../errors.js').MailError} BUSY: another process has taken the work over
 */
async function mergeOne(port, rows) {
  const base = Math.min(...rows.map((row) => row.base))
  const last = Math.max(...rows.map((row) => row.last))
  const segmentId = await port.write((db) => insertSegment(db, { base, last, contentCount: 0 }))
  // Thrown outside of `port.write` and `port.read`, which would try again after BUSY.
  const giveUp = async () => {
    await port.write((db) => {
      if (isUnfinished(db, segmentId)) leaveSegments(db, [{ id: segmentId }])
    })
    return new MailError('BUSY', { detail: 'another process indexes this mailbox' })
  }
  const write = async (/** @type {(db: Database) => void} */ work) => {
    const isOurs = await port.write((db) => {
      if (!isUnfinished(db, segmentId) || !areLive(db, rows)) return false
      work(db)
      return true
    })
    if (!isOurs) throw await giveUp()
  }
  const read = async (/** @type {(db: Database) => any} */ work) => {
    const done = await port.read((db) => {
      try {
        return { value: work(db) }
      } catch (error) {
        // Another process deletes the segments that it has merged: a missing block of theirs is no damage.
        if (areLive(db, rows)) throw error
        return null
      }
    })
    if (done === null) throw await giveUp()
    return done.value
  }
  const writer = new SegmentWriter()
  const merge = /** @type {Merge} */ (
    await read((db) => new Merge(db, { rows, base, last, writer }))
  )
  let blocks = writer.takeBlocks()
  while (await read((db) => merge.step(db, STEP_TERMS))) {
    blocks.push(...writer.takeBlocks())
    if (blocks.length < WRITTEN_BLOCKS) continue
    const written = blocks
    blocks = []
    await write((db) => insertBlocks(db, segmentId, written))
  }
  // A read is a breath, in whatever way the file is reached.
  const directory = await writer.finish(() => port.read(() => undefined))
  blocks.push(...writer.takeBlocks())
  while (blocks.length > WRITTEN_BLOCKS) {
    const written = blocks.splice(0, WRITTEN_BLOCKS)
    await write((db) => insertBlocks(db, segmentId, written))
  }
  await write((db) => {
    insertBlocks(db, segmentId, blocks)
    completeSegment(db, segmentId, { directory, contentCount: merge.contentCount })
    leaveSegments(db, merge.contentCount === 0 ? [...rows, { id: segmentId }] : rows)
  })
}

/** The terms of several segments in one order. */
class Merge {
  #cursors
  #writer
  #base
  /** @type {Uint8Array | null} a bit for each content; null when all are still there */
  #live
  /** Of one term. */
  #postings = new PostingList()
  contentCount = 0

  /**
   * @param {Database} db
   * @param {object} options
   * @param {readonly SegmentRow[]} options.rows
   * @param {number} options.base
   * @param {number} options.last
   * @param {SegmentWriter} options.writer
   */
  constructor(db, { rows, base, last, writer }) {
    const cursors = rows.map((row) => new SegmentCursor(db, row))
    this.#writer = writer
    this.#base = base
    this.#live = liveContents(db, cursors, { base, last })
    this.#cursors = new CursorHeap(cursors)
  }

  /**
   * @param {Database} db
   * @param {number} maxTerms
   * @returns {boolean} whether there are more terms
   */
  step(db, maxTerms) {
    const cursors = this.#cursors
    const postings = this.#postings
    for (let terms = 0; terms < maxTerms; terms++) {
      const { first } = cursors
      if (!first) return false
      const { termClass, term } = first
      postings.length = 0
      let isSorted = true
      /** @type {SegmentCursor | undefined} */
      let cursor = first
      while (cursor?.term === term && cursor.termClass === termClass) {
        isSorted = this.#collect(db, cursor) && isSorted
        cursor.advance(db)
        cursors.settleFirst()
        cursor = cursors.first
      }
      const { numbers } = postings
      if (!isSorted) numbers.sort()
      if (termClass === TERM_CLASS.CONTENTS) this.contentCount = numbers.length
      if (numbers.length > 0) this.#writer.add(termClass, term, numbers)
    }
    return true
  }

  /**
   * @param {Database} db
   * @param {SegmentCursor} cursor - whose postings are gathered, but for those of contents that have gone
   * @returns {boolean} whether they are in order with those before
   */
  #collect(db, cursor) {
    const postings = this.#postings
    const from = postings.length
    cursor.pushPostings(db, postings, (cursor.base - this.#base) * 2)
    if (this.#live) postings.length = keepLive(postings.numbers, from, this.#live)
    const { numbers } = postings
    return from === 0 || from === numbers.length || at(numbers, from) > at(numbers, from - 1)
  }
}

/**
 * @param {Int32Array} numbers
 * @param {number} index - of one that is there
 * @returns {number}
 */
const at = (numbers, index) => /** @type {number} */ (numbers[index])

/**
 * @param {Int32Array} postings
 * @param {number} from - of those that are looked at: those that are kept move together
 * @param {Uint8Array} live - a bit for each content
 * @returns {number} where those that are kept end
 */
function keepLive(postings, from, live) {
  let end = from
  for (let index = from; index < postings.length; index++) {
    const place = at(postings, index) >>> 1
    if (((live[place >> 3] ?? 0) >> (place & 7)) & 1) postings[end++] = at(postings, index)
  }
  return end
}

/**
 * Asked for one by one: a few contents may lie a million others apart, and to go through those would hold up the event
 * loop for most of a second.
 *
 * @param {Database} db
 * @param {readonly SegmentCursor[]} cursors - at their beginning, which is the list of their contents
 * @param {object} range
 * @param {number} range.base - lowest content id
 * @param {number} range.last - highest
 * @returns {Uint8Array | null} a bit for each content from `base` to `last`: whether it is in one of them, and still there;
 *   null when all that are in one of them are
 */
function liveContents(db, cursors, { base, last }) {
  const live = new Uint8Array(Math.ceil((last - base + 1) / 8))
  let areAllLive = true
  const find = prepared(db, 'SELECT 1 FROM contents WHERE id = ? AND hash IS NOT NULL', 'value')
  for (const cursor of cursors) {
    for (const posting of cursor.postings(db)) {
      const place = cursor.base - base + (posting >>> 1)
      if (find.get(base + place) === undefined) areAllLive = false
      else live[place >> 3] = /** @type {number} */ (live[place >> 3]) | (1 << (place & 7))
    }
  }
  return areAllLive ? null : live
}
