/**
 * The thread's part of read-ahead.js.
 */
import { SPARE_BYTES } from '../support/release-buffer.js'
import { copyOf } from './chunk-codec.js'
import { readChunk, requireContent } from './content-rows.js'

/**
 * @typedef {object} ReadAheadRequest
 * @property {number} contentId
 * @property {number} first - number of the first chunk
 * @property {SharedArrayBuffer} limit - an int32: how many chunks from the first one may be read so far
 * @property {SharedArrayBuffer} claims - an int32 for each chunk to the content's end: who reads it
 *
 * @typedef {object} ChunkAhead
 * @property {number} sequence - number of the chunk
 * @property {Uint8Array} bytes - raw; its memory is moved to who gets it
 */

/** Nobody reads the chunk yet. */
export const CLAIM_FREE = 0
/** This thread does, or has. */
export const CLAIM_THREAD = 1
/** The session does that wants it now. */
export const CLAIM_SESSION = 2

/** Who takes what it has got no faster than this, milliseconds, is not waited for: others need the thread. */
const WAIT_MS = 20

/**
 * Reads the chunks that nobody else has come to, until the content ends or no more are asked for.
 *
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {ReadAheadRequest} request
 * @param {(chunk: ChunkAhead, moved: ArrayBuffer[]) => void} onChunk
 * @throws {import('../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export function readAhead(db, { contentId, first, limit, claims }, onChunk) {
  const limits = new Int32Array(limit)
  const owners = new Int32Array(claims)
  const content = requireContent(db, contentId)
  for (let index = 0; index < owners.length && isWanted(limits, index); index++) {
    const owner = Atomics.compareExchange(owners, index, CLAIM_FREE, CLAIM_THREAD)
    if (owner !== CLAIM_FREE) continue
    const sequence = first + index
    const raw = readChunk(db, contentId, sequence, content)
    // Of a pool, others have the rest.
    const bytes = raw.buffer.byteLength <= raw.length + SPARE_BYTES ? raw : copyOf(raw)
    onChunk({ sequence, bytes }, [/** @type {ArrayBuffer} */ (bytes.buffer)])
  }
}

/**
 * Waits until the chunk may be read.
 *
 * @param {Int32Array} limits
 * @param {number} index - of the chunk, from the first one
 * @returns {boolean} false: nobody has asked for it for a while
 */
function isWanted(limits, index) {
  for (;;) {
    const limit = Atomics.load(limits, 0)
    if (index < limit) return true
    if (Atomics.wait(limits, 0, limit, WAIT_MS) === 'timed-out') return false
  }
}
