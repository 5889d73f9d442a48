/**
 * Finds attachments that several messages have, and stores each once. A while after the messages have come, in the thread that
 * indexes them: an APPEND does not wait for it, and of an attachment that nobody else has only a hash is kept.
 *
 * Invariants: each step leaves every message readable, byte by byte; a chunk refers to a shared part only after it has been
 * seen that this gives the same bytes; and a part is there for as long as `shared_part_uses` names a content. So it may stop
 * anywhere: contents stay on the list until they are done, and doing them again changes nothing.
 */
import { createHash } from 'node:crypto'
import { isMailError } from '../../errors.js'
import { prepared } from '../../database/statement.js'
import { runSnapshot } from '../../database/transaction.js'
import { BlockReader } from '../block-reader.js'
import { CODEC_SHARED, packChunk, releaseBuffer } from '../chunk-codec.js'
import { hasContent, insertChunks, requireContent } from '../content-rows.js'
import { readPartTree } from '../read-part-tree.js'
import { chunkRowId } from '../row-ids.js'
import { textBytes } from './base64-text.js'
import { decodeText, findParts } from './find-parts.js'
import {
  completeSharedPart,
  findSharedPart,
  hasTwin,
  insertPlace,
  insertSharedPart,
  insertUse,
  isComplete,
  isInUse,
  leaveUnfinishedParts,
  noteShared,
  readQueue,
  readUnshared,
  removeUse,
  takeOffQueue
} from './part-rows.js'
import { unpackStored } from './read-part.js'
import { PART_CHUNK_BYTES, encodeSharedChunk, parseSharedChunk } from './shared-chunk.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../chunk-codec.js').EncodedChunk} EncodedChunk
 * @typedef {import('./part-rows.js').PartPlace} PartPlace
 * @typedef {import('./shared-chunk.js').Reference} Reference
 *
 * @typedef {object} SharePort
 * @property {<T>(work: (db: Database) => T) => Promise<T>} read
 * @property {<T>(work: (db: Database) => T) => Promise<T>} write - in a transaction, of the only indexer
 */

/** Contents that are looked at for one transaction, and their raw bytes. */
const BATCH_CONTENTS = 64
const BATCH_BYTES = 8 * 1024 * 1024

/** Raw bytes that are looked at in one turn: other mailboxes want theirs … */
const TURN_BYTES = 64 * 1024 * 1024

/** … and attachments that are shared, each of which is a transaction or more. */
const TURN_TWINS = 256

/** Raw bytes whose chunks are written in one transaction: some milliseconds. */
const STEP_BYTES = 512 * 1024

/** Places that are looked up at once. */
const PLACES_AT_ONCE = 100

/** Less of a chunk is not worth a reference, bytes: the end of a part often lies in the next chunk. */
const MIN_REFERENCE_BYTES = 1024

/** Ends a turn in the middle of an attachment. */
class CalledOff extends Error {}

/**
 * Looks at what is on the list.
 *
 * @param {SharePort} port
 * @param {() => boolean} isCalledOff - asked before each reading of the file, some hundred KiB at most
 * @returns {Promise<boolean>} whether all of the list is done
 */
export async function shareParts({ read, write }, isCalledOff) {
  /** @type {SharePort['read']} */
  const readUnlessCalledOff = (work) => {
    if (isCalledOff()) throw new CalledOff()
    return read(work)
  }
  try {
    return await shareQueued({ read: readUnlessCalledOff, write })
  } catch (error) {
    if (error instanceof CalledOff) return false
    throw error
  }
}

/**
 * @param {SharePort} port
 * @returns {Promise<boolean>} whether all of the list is done; false: this was enough for one turn
 * @throws {CalledOff}
 */
async function shareQueued(port) {
  let [bytes, twinCount] = [0, 0]
  for (let isFirst = true; ; isFirst = false) {
    const queue = await port.read((db) => readQueue(db, BATCH_CONTENTS))
    if (queue.length === 0) return true
    if (bytes >= TURN_BYTES || twinCount >= TURN_TWINS) return false
    if (isFirst) await port.write(leaveUnfinishedParts)
    const batch = await lookAt(port, queue)
    bytes += batch.bytes
    const twins = await port.write((db) => {
      for (const place of batch.places) if (hasContent(db, place.contentId)) insertPlace(db, place)
      const found = batch.places.filter((place) => hasTwin(db, place))
      const waiting = new Set(found.map(({ contentId }) => contentId))
      for (const id of batch.contentIds) if (!waiting.has(id)) takeOffQueue(db, id)
      return found
    })
    twinCount += twins.length
    for (const place of twins) await sharePart(port, place)
    if (twins.length > 0)
      await port.write((db) => batch.contentIds.forEach((id) => takeOffQueue(db, id)))
  }
}

/**
 * @param {SharePort} port
 * @param {readonly { id: number, size: number }[]} queue - not empty
 * @returns {Promise<{ contentIds: number[], places: PartPlace[], bytes: number }>} of the first of them, one at least
 */
async function lookAt({ read }, queue) {
  /** @type {PartPlace[]} */
  const places = []
  const contentIds = []
  let bytes = 0
  const trees = await read((db) => {
    const blocks = new BlockReader(db)
    return queue.map(({ id }) => readPartTree(db, blocks, id))
  })
  for (const [index, { id, size }] of queue.entries()) {
    const tree = trees[index]
    // Where there is no part tree, none could be made of the message.
    const found = tree && (await unlessUnreadable(() => findParts({ readSettled: read }, id, tree)))
    if (found) places.push(...found)
    contentIds.push(id)
    bytes += size
    if (bytes >= BATCH_BYTES) break
  }
  return { contentIds, places, bytes }
}

/**
 * A message that has gone, or that cannot be read, is left as it is: whoever asks for it hears of that.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | null>}
 */
async function unlessUnreadable(work) {
  try {
    return await work()
  } catch (error) {
    if (!isMailError(error, 'MESSAGE_GONE') && !isMailError(error, 'ACCOUNT_DAMAGED')) throw error
    return null
  }
}

/**
 * @param {SharePort} port
 * @param {PartPlace} place - one of several that seem to have the same bytes
 */
async function sharePart(port, place) {
  const { contentId } = place
  for (;;) {
    const places = await port.read((db) => readUnshared(db, place, PLACES_AT_ONCE))
    if (places.length === 0) return
    const part = await requirePart(port, place)
    if (part === null) {
      await port.write((db) => noteShared(db, place))
      return
    }
    let isNeeded = !part.isNew
    for (const one of places) {
      const refers = await unlessUnreadable(() => usePart(port, one, part.id))
      // null: the content could not be read to its end, and some of its chunks may refer to the part.
      if (refers !== false && one.contentId === contentId) isNeeded = true
      if (refers !== true) await port.write((db) => noteShared(db, one))
    }
    // No chunk refers to the part: the text is written in another way than base64-text.js would write it.
    if (!isNeeded) await port.write((db) => removeUse(db, contentId, part.id))
  }
}

/**
 * @param {SharePort} port
 * @param {PartPlace} place
 * @returns {Promise<{ id: number, isNew: boolean } | null>} the shared part, which the place's content uses where it is new; null:
 *   that has gone, or cannot be read, or has no such part after all
 */
async function requirePart(port, place) {
  const hash = await unlessUnreadable(() => hashPart(port, place))
  if (hash === null) return null
  const known = await port.read((db) => findSharedPart(db, { hash, size: place.size }))
  if (known !== null) return { id: known, isNew: false }
  const id = await unlessUnreadable(() => makePart(port, place, hash))
  return id === null ? null : { id, isNew: true }
}

/**
 * @param {PartPlace} place
 * @returns {{ contentId: number, start: number, end: number }}
 */
const textOf = (place) => ({
  contentId: place.contentId,
  start: place.start,
  end: place.start + textBytes(place)
})

/**
 * @param {SharePort} port
 * @param {PartPlace} place
 * @returns {Promise<Buffer | null>} SHA-256 of what it decodes to; null: what lies between its beginning and its end is no such
 *   text
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
async function hashPart({ read }, place) {
  const hash = createHash('sha256')
  const shape = await decodeText({ readSettled: read }, textOf(place), (decoded) =>
    hash.update(decoded)
  )
  return shape?.line === place.line && shape.size === place.size ? hash.digest() : null
}

/**
 * @param {SharePort} port
 * @param {PartPlace} place
 * @param {Buffer} hash - SHA-256 of what it decodes to
 * @returns {Promise<number | null>} id of the part, used by the place's content; null: that has gone
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
async function makePart(port, place, hash) {
  const { contentId, size } = place
  const partId = await port.write((db) => {
    if (!hasContent(db, contentId)) return null
    const id = insertSharedPart(db, size)
    insertUse(db, contentId, id)
    return id
  })
  if (partId === null) return null
  let written = 0
  /** @type {EncodedChunk[]} */
  let chunks = []
  const writeChunks = (/** @type {boolean} */ isLast) =>
    port.write((db) => {
      if (!isInUse(db, contentId, partId)) return false
      insertChunks(db, partId, written, chunks)
      written += chunks.length
      chunks = []
      if (isLast) completeSharedPart(db, partId, hash)
      return true
    })
  let rest = Buffer.alloc(0)
  await decodeText({ readSettled: port.read }, textOf(place), async (decoded) => {
    rest = Buffer.concat([rest, decoded])
    for (; rest.length >= PART_CHUNK_BYTES; rest = rest.subarray(PART_CHUNK_BYTES))
      chunks.push(packChunk(rest.subarray(0, PART_CHUNK_BYTES)))
    if (chunks.length * PART_CHUNK_BYTES >= STEP_BYTES) await writeChunks(false)
  })
  if (rest.length > 0) chunks.push(packChunk(rest))
  return (await writeChunks(true)) ? partId : null
}

/**
 * Makes the chunks of a message refer to a shared part, where that makes them shorter.
 *
 * @param {SharePort} port
 * @param {PartPlace} place - noted as shared where one does
 * @param {number} partId
 * @returns {Promise<boolean>} false: none does, or the message or the part has gone
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
async function usePart(port, place, partId) {
  const { contentId, start } = place
  const content = await port.read((db) => requireContent(db, contentId))
  const { chunkSize } = content
  const end = start + textBytes(place)
  const step = Math.max(1, Math.floor(STEP_BYTES / chunkSize))
  let isReferredTo = false
  for (let first = Math.floor(start / chunkSize); first * chunkSize < end; first += step) {
    const isLast = (first + step) * chunkSize >= end
    const sequences = Array.from({ length: step }, (_, index) => first + index)
    const chunks = await port.read((db) =>
      runSnapshot(db, () =>
        sequences.flatMap((sequence) => referTo(db, { sequence, content }, { place, end, partId }))
      )
    )
    if (chunks.length > 0) isReferredTo = true
    else if (!isLast || !isReferredTo) continue
    const isThere = await port.write((db) => {
      if (!hasContent(db, contentId) || !isComplete(db, partId)) return false
      insertUse(db, contentId, partId)
      const update = prepared(db, 'UPDATE content_chunks SET codec = ?, data = ? WHERE id = ?')
      for (const { id, codec, data } of chunks) update.run(codec, data, id)
      if (isLast) noteShared(db, place)
      return true
    })
    if (!isThere) return false
  }
  return isReferredTo
}

/**
 * @param {Database} db - in a snapshot
 * @param {{ sequence: number, content: { size: number, chunkSize: number } }} chunk - its number in the message
 * @param {{ place: PartPlace, end: number, partId: number }} part - `end` of its text in the message
 * @returns {({ id: number } & EncodedChunk)[]} how it is to be stored; none: as it is
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
function referTo(db, { sequence, content }, { place, end, partId }) {
  const id = chunkRowId(place.contentId, sequence)
  const from = sequence * content.chunkSize
  const size = Math.min(content.chunkSize, content.size - from)
  const row = /** @type {{ codec: number, data: Buffer } | undefined} */ (
    prepared(db, 'SELECT codec, data FROM content_chunks WHERE id = ?').get(id)
  )
  if (row === undefined) return []
  const at = Math.max(place.start - from, 0)
  const bytes = Math.min(end - from, size) - at
  const known = row.codec === CODEC_SHARED ? parseSharedChunk(row.data, size)?.references : []
  if (known === undefined || bytes < MIN_REFERENCE_BYTES) return []
  // An earlier turn, which was stopped, has made this reference.
  if (known.some((one) => one.at < at + bytes && one.at + one.bytes > at)) return []
  const reference = {
    at,
    bytes,
    partId,
    size: place.size,
    line: place.line,
    from: from + at - place.start
  }
  const references = [...known, reference].sort((a, b) => a.at - b.at)
  const raw = unpackStored(db, { ...row, size })
  const shared = encodeSharedChunk(raw, references)
  const isShorter = shared.data.length < row.data.length
  const isSame = isShorter && isEqual(unpackStored(db, { ...shared, size }), raw)
  releaseBuffer(raw)
  return isSame ? [{ id, ...shared }] : []
}

/**
 * @param {Buffer} again - for `releaseBuffer`
 * @param {Buffer} raw
 * @returns {boolean}
 */
function isEqual(again, raw) {
  const result = again.equals(raw)
  releaseBuffer(again)
  return result
}
