/**
 * The thread of scanner.js: long searches of one mailbox file, with a connection of its own.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { openEncryptedDatabase } from '../../database/open.js'
import { toMailError } from '../../database/sqlite-error.js'
import { toThreadFailure } from '../../database/thread.js'
import { MailError } from '../../errors.js'
import { BlockCache } from './block-cache.js'
import { askIndex } from './index-answers.js'
import { planSearch } from './plan.js'
import { Resolver } from './resolve.js'
import { packCandidates, PAUSE, STOP, unpackCandidates } from './scan-request.js'
import { Slicer } from '../../support/slicer.js'
import { ThreadDatabase } from './thread-database.js'

/**
 * @typedef {import('./scan-request.js').ScanRequest} ScanRequest
 *
 * @typedef {object} ScanThreadData
 * @property {string} path
 * @property {SharedArrayBuffer} key
 * @property {import('../../database/setup-pragma.js').Cipher} cipher
 * @property {import('../../database/temp-store.js').TempStore} tempStore
 *
 * @typedef {{ id: number, request: ScanRequest, signal: SharedArrayBuffer }} ScanJob
 *
 * @typedef {object} ScanOutcome
 * @property {Uint32Array<ArrayBuffer>} uids - that match, in no order
 * @property {import('./scan-request.js').PackedCandidates} [rest] - that were not looked at, because others are to have their turn
 *
 * @typedef {import('../../database/thread.js').ThreadFailure} ThreadFailure
 *
 * @typedef {{ id: number, outcome: ScanOutcome, failure?: undefined }
 *   | { id: number, outcome?: undefined, failure: ThreadFailure }} ScanReply
 */

/** Page cache, bytes. */
const CACHE_BYTES = 4 * 1024 * 1024

/** Rows of the index that are read instead of looking at one message: 0.2 ms of either. */
const ROWS_A_MESSAGE = 200

/** Whatever the number of messages, so many rows are cheap. */
const MIN_ROWS = 16_384

/** Contents that the index names to one search, for all of its keys: 32 MB. Thousands of keys may name all contents each. */
const MAX_IDS = 4_000_000

/** Blocks of the index that are kept unpacked, bytes. */
const CACHED_BLOCK_BYTES = 8 * 1024 * 1024

const cache = new BlockCache(CACHED_BLOCK_BYTES)

const { key, ...options } = /** @type {ScanThreadData} */ (workerData)
const { db } = openEncryptedDatabase({
  ...options,
  key: new Uint8Array(key),
  cacheBytes: CACHE_BYTES,
  isReadOnly: true,
  isBlocking: true
})
const database = new ThreadDatabase(db)

/**
 * @param {ScanJob} job
 * @returns {Promise<ScanOutcome>}
 */
async function scan({ request, signal }) {
  const { mailboxId, key: searchKey, nowSeconds, kept } = request
  const flag = new Int32Array(signal)
  const slicer = new Slicer({
    throwIfAborted: () => {
      if (Atomics.load(flag, 0) === STOP) throw new MailError('SHUTTING_DOWN')
    }
  })
  const begunMs = performance.now()
  let mayPauseMs = Infinity
  const plan = planSearch(searchKey, kept)
  const candidates = unpackCandidates(plan, request)
  const maxRows = Math.max(MIN_ROWS, candidates.length * ROWS_A_MESSAGE)
  const breathe = () => slicer.breathe()
  const asked = await askIndex(database, {
    plan,
    maxRows,
    maxBlocks: Infinity,
    maxIds: MAX_IDS,
    breathe,
    cache
  })
  const answers = asked?.answers ?? null
  const resolver = new Resolver({
    database,
    mailboxId,
    plan,
    candidates,
    answers,
    nowSeconds,
    slicer,
    mustPause: () => Atomics.load(flag, 0) === PAUSE && performance.now() >= mayPauseMs
  })
  const sorted = await resolver.sort(Infinity)
  // All that comes before the messages is done again in the next turn: it is to be at most half of each.
  const readyMs = performance.now()
  mayPauseMs = readyMs + (readyMs - begunMs)
  if (!sorted) return { uids: new Uint32Array(0) }
  const { matches, rest } = await resolver.resolve(sorted.open)
  const uids = Uint32Array.from(sorted.matches.concat(matches), candidates.uidAt)
  if (rest.length === 0) return { uids }
  return { uids, rest: await packCandidates(plan, candidates, rest, breathe) }
}

/**
 * @param {ScanOutcome} outcome
 * @returns {ArrayBuffer[]} whose memory is moved to the receiver
 */
function buffersOf({ uids, rest }) {
  const arrays = rest ? [uids, rest.uids, rest.contentIds, rest.verdicts] : [uids]
  return arrays.map(({ buffer }) => /** @type {ArrayBuffer} */ (buffer))
}

parentPort?.on('message', (/** @type {ScanJob} */ job) => {
  const { id } = job
  scan(job).then(
    (outcome) => parentPort?.postMessage({ id, outcome }, buffersOf(outcome)),
    (error) => parentPort?.postMessage({ id, failure: toThreadFailure(toMailError(error)) })
  )
})
