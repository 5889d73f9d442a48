/**
 * Indexes in a thread what is on the list, in batches: texts are read and folded outside the transaction, so that it
 * holds the lock for the insertion alone.
 */
import { MailError, isMailError } from '../../errors.js'
import { syncLog } from '../../database/durability.js'
import { runTransaction } from '../../database/transaction.js'
import { letWritersGo } from '../../database/writers.js'
import {
  forgetDeleted,
  mergeFieldsStep,
  readIndexState,
  resetStep,
  writeBatch
} from './index-rows.js'
import { packLists } from '../pack-lists.js'
import { packViews } from '../pack-views.js'
import { shareParts } from '../shared-parts/share-parts.js'
import { readSpace } from '../upkeep/space.js'
import { INDEX_VERSION, readIndexText } from './index-text.js'
import { UNHURRIED } from './message-text.js'
import { readPending } from './pending-rows.js'
import { SegmentBatch } from './segment-batch.js'
import { mergeSegments } from './segment-merge.js'
import { leaveUnfinished, readSegments } from './segment-rows.js'
import { ThreadDatabase } from './thread-database.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./index-text.js').IndexText} IndexText
 *
 * @typedef {object} IndexRequest
 * @property {boolean} isUrgent - a search waits: merging is left for later, and so is what is more than one turn's worth
 * @property {number} newContents - that the turns before this one have indexed
 * @property {SharedArrayBuffer} wish - not 0 as soon as a search waits, which ends a turn that is not urgent
 * @property {SharedArrayBuffer} waiting - the count of mailboxes that wait for this one to have had its turn
 *
 * @typedef {object} IndexTurn - what has come of one
 * @property {'nothing' | 'merging' | 'texts' | 'parts'} left - `merging`: for a turn when no others wait; `texts`, or `parts`
 *   (attachments that other messages may have too): for the next turn
 * @property {number} newContents - indexed in this turn and those before it
 */

/** Contents in one transaction, which becomes one segment. */
const BATCH_CONTENTS = 256

/** Text in one transaction, UTF-16 units. */
const BATCH_CHARACTERS = 4 * 1024 * 1024

/** Postings in one transaction: a message of noise may bring as many by itself. */
const BATCH_POSTINGS = 150_000

/** Pages that one step of a merge writes: some 20 ms. */
const MERGE_PAGES = 64

/** A merge that drops fewer deleted contents gains nothing that anybody would notice. */
const MERGE_MIN_DELETED = 1000

/** A merge pays when one in so many of the indexed contents has gone. */
const MERGE_DIVISOR = 5

/** Where half of the contents have gone, a merge pays from so many on: little is left to be written. */
const MERGE_MIN_OF_HALF = 50

/** So many contents in one run came from an import or the like. */
const BULK_CONTENTS = 1000

/** Part of the file that may stay free after such a run: merges and packing leave pages, and the next mail takes them. */
const FREE_SHARE = 0.05

/** So many free pages may stay in any file: nobody would miss them. */
const FREE_PAGES = 256

/** Pages that are given back in one transaction. */
const RELEASED_PAGES = 64

/** While more is to be indexed, or other mailboxes wait for a turn, merging is put off until there are so many segments. */
const MANY_SEGMENTS = 24

/** So many batches are one urgent turn: what a user has brought in at once must not keep others from theirs. */
const URGENT_BATCHES = 40

/**
 * @param {Database} db - the thread's own, which may wait for locks
 * @param {IndexRequest} request
 * @param {object} options
 * @param {SharedArrayBuffer} options.writers - of the file's Writers
 * @param {(count: number) => void} options.onBatch - called after each commit
 * @returns {Promise<IndexTurn>}
 */
export async function indexPending(db, request, { writers, onBatch }) {
  const { isUrgent } = request
  const crowd = new Int32Array(request.waiting)
  const wish = new Int32Array(request.wish)
  const source = new ThreadDatabase(db)
  const write = async (/** @type {(db: Database) => any} */ work, count = 0) => {
    await letWritersGo(writers)
    const result = runTransaction(db, () => work(db))
    syncLog(db)
    onBatch(count)
    return result
  }
  const port = { read: source.readSettled.bind(source), write }
  await write(leaveUnfinished)
  if (readIndexState(db).textVersion < INDEX_VERSION) while (await write(resetStep));
  let after = 0
  let { newContents } = request
  const isCalledOff = () => !isUrgent && Atomics.load(wish, 0) !== 0
  // Many small segments at once are merged for less than a few now, and a few of those again later.
  const areMany = () => readSegments(db).length >= MANY_SEGMENTS
  for (let turn = 0; ; turn++) {
    if (isUrgent && turn === URGENT_BATCHES) return { left: 'texts', newContents }
    const { through, ...batch } = await readBatch(db, source, { after, isCalledOff })
    if (through === after) break
    after = through
    const count = batch.contents.length
    newContents += count
    // All of them may have gone.
    if (count > 0 && !(await write((to) => writeBatch(to, batch), count)))
      return { left: 'nothing', newContents }
    if (isCalledOff()) return { left: 'texts', newContents }
    if (areMany()) await mergeSegments(port, { maxContents: Infinity })
    // Now, and not at the end: the next messages come into the pages that this leaves.
    await packLists(port)
  }
  const isCrowded = newContents > 0 && Atomics.load(crowd, 0) > 0
  if ((isUrgent || isCrowded) && !areMany()) return { left: 'merging', newContents }
  const isWorthIt = isWorthMerging(readIndexState(db))
  await mergeSegments(port, { maxContents: Infinity, all: isWorthIt, newContents })
  if (isWorthIt) await mergeFields(write)
  await packLists(port)
  await packViews(port)
  if (!isUrgent && !(await shareParts(port, isCalledOff))) return { left: 'parts', newContents }
  if (newContents >= BULK_CONTENTS && isMuchFree(db)) while (await write(releaseStep));
  return { left: 'nothing', newContents }
}

/**
 * @param {Database} db
 * @returns {boolean}
 */
function isMuchFree(db) {
  const { pages, freePages } = readSpace(db)
  return freePages > Math.max(FREE_PAGES, pages * FREE_SHARE)
}

/**
 * @param {Database} db - in a transaction
 * @returns {boolean} whether more can be given back
 */
function releaseStep(db) {
  const before = readSpace(db).freePages
  db.pragma(`incremental_vacuum(${RELEASED_PAGES})`)
  const { freePages } = readSpace(db)
  return freePages > 0 && freePages < before
}

/**
 * One message that cannot be read, or that brings our own code down, must not keep the others out, nor stop the server
 * at each start: it is left out, and a search that meets it says what is wrong.
 *
 * @param {import('./index-text.js').Source} source
 * @param {number} contentId
 * @param {import('./token-collector.js').BatchTokens} batchTokens - of the batch that it comes into
 * @param {import('./message-text.js').Pace} [pace]
 * @returns {Promise<IndexText | null | undefined>} null: it cannot be indexed; undefined: it has gone
 * @throws {MailError} what does not come from the message: BUSY, SHUTTING_DOWN
 */
export async function readTextOf(source, contentId, batchTokens, pace = UNHURRIED) {
  try {
    return await readIndexText(source, contentId, batchTokens, pace)
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE')) return undefined
    if (error instanceof MailError && error.code !== 'ACCOUNT_DAMAGED') throw error
    return null
  }
}

/**
 * @param {Database} db
 * @param {ThreadDatabase} source
 * @param {object} options
 * @param {number} options.after - content id
 * @param {() => boolean} options.isCalledOff - asked after each content; what is read until then is a batch too
 * @returns {Promise<{ segment: import('./segment-batch.js').NewSegment | null, contents: import('./index-rows.js').IndexedContent[], through: number }>}
 *   `through`: the last content that was looked at, `after` when nothing is left
 */
async function readBatch(db, source, { after, isCalledOff }) {
  /** @type {import('./index-rows.js').IndexedContent[]} */
  const contents = []
  const batch = new SegmentBatch()
  let characters = 0
  let through = after
  for (const { id } of readPending(db, after, BATCH_CONTENTS)) {
    if (!batch.hasRoomFor(id)) break
    through = id
    const text = await readTextOf(source, id, batch.tokens)
    if (text === undefined) continue
    contents.push(toIndexed(id, text))
    if (text !== null) {
      batch.add(id, text.tokens)
      characters += text.characters
    }
    if (characters > BATCH_CHARACTERS || batch.size > BATCH_POSTINGS) break
    if (isCalledOff()) break
  }
  return { segment: await batch.toSegment(async () => {}), contents, through }
}

/**
 * @param {number} id - content id
 * @param {IndexText | null} text - of `readTextOf`
 * @returns {import('./index-rows.js').IndexedContent}
 */
export const toIndexed = (id, text) => ({
  id,
  fields: text && text.fields,
  // Of a content that cannot be indexed nobody knows: it may have some.
  hasBase64: text?.hasBase64 ?? true,
  madeMeta: text && text.madeMeta
})

/**
 * @param {import('./index-rows.js').IndexState} state
 * @returns {boolean} whether so much has gone that a merge pays
 */
export function isWorthMerging({ indexedCount, deletedCount }) {
  return (
    deletedCount >= Math.max(MERGE_MIN_DELETED, indexedCount / MERGE_DIVISOR) ||
    deletedCount >= Math.max(MERGE_MIN_OF_HALF, indexedCount / 2)
  )
}

/**
 * Fields of deleted contents stay in their table until it is merged.
 *
 * @param {<T>(work: (db: Database) => T) => Promise<T>} write
 */
async function mergeFields(write) {
  let isFirst = true
  while (await write((db) => mergeFieldsStep(db, MERGE_PAGES, isFirst))) isFirst = false
  await write(forgetDeleted)
}
