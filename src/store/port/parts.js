/**
 * Makes the parts of an open account, and gives each the others that it needs.
 */
import { errorCodeOf } from '../../database/sqlite-error.js'
import { AccountDatabase } from '../account-database.js'
import { AccountKeywords } from '../account-keywords.js'
import { ChunkCache } from '../chunk-cache.js'
import { CHECKPOINT_BYTES, Housekeeping } from '../housekeeping.js'
import { IdleViews } from '../idle-views.js'
import { LateMeta } from '../late-meta.js'
import { reopenMailFile } from '../mail-file.js'
import { SearchIndexer } from '../search/indexer.js'
import { ScanPlaces } from '../search/scan-places.js'
import { Scanner } from '../search/scanner.js'
import { ReadAhead } from '../read-ahead.js'
import { StoreThreads } from '../store-threads.js'
import { Transfers } from '../transfers.js'
import { ViewKeeper } from '../views.js'

/**
 * @typedef {object} StoreParts
 * @property {AccountDatabase} database
 * @property {ViewKeeper} views
 * @property {AccountKeywords} keywords
 * @property {LateMeta} lateMeta
 * @property {ReadAhead} readAhead
 * @property {import('../../database/pool.js').CachePool | null} cachePool
 * @property {Housekeeping} housekeeping
 * @property {StoreThreads} threads
 * @property {Transfers} transfers
 * @property {SearchIndexer} indexer
 * @property {Scanner} scanner
 * @property {import('../quota.js').Quota} quota
 * @property {number} maxMessageBytes
 */

const DEFAULT_MAX_MESSAGE_BYTES = 50 * 1024 * 1024

const DEFAULT_CHUNK_CACHE_BYTES = 1024 * 1024

const DEFAULT_IDLE_VIEW_BYTES = 8 * 1024 * 1024

/** For changes that nobody waits for; see WriteOptions. */
export const LAZY = Object.freeze({ isLazy: true })

/**
 * The default of `onAlert`: where nobody wants to be told, a fault of the program is not hidden.
 *
 * @param {import('../account-database.js').Alert} alert
 */
function throwFault({ err }) {
  if (err !== undefined) throw err
}

/**
 * @typedef {object} PartsInput
 * @property {import('./options.js').StoreOptions} options
 * @property {import('../mail-file.js').FileOptions} files
 * @property {import('../mail-file.js').OpenFile} file
 * @property {SharedArrayBuffer} key
 * @property {import('../../database/checkpoint.js').Checkpointer} checkpointer
 * @property {import('../../database/child.js').ChildPool} children
 * @property {() => Promise<void>} close - closes the store, called when its file has failed
 */

/**
 * @param {PartsInput} input
 * @param {object} others - of the parts
 * @param {ReturnType<ChunkCache['share']>} others.chunks
 * @param {() => void} others.onCommit
 * @param {() => void} others.onRest
 * @returns {AccountDatabase}
 */
function makeDatabase({ options, files, file, key, close }, { chunks, onCommit, onRest }) {
  const { clock, cachePool, onAlert = throwFault } = options
  const { folder, isReadOnly, busyTimeoutMs } = files
  const { db, cipher } = file
  const database = new AccountDatabase({
    db,
    reopen: () => reopenMailFile({ ...files, cipher, key: Uint8Array.from(new Uint8Array(key)) }),
    onOpen: (opened) => cachePool?.join(opened, () => database.idleMs),
    onClose: (closing) => {
      cachePool?.leave(closing)
      chunks.clear()
    },
    onRest,
    folder,
    isReadOnly,
    clock,
    busyTimeoutMs,
    onAlert: (alert) => {
      options.logger?.warn(alert, 'mailbox trouble')
      onAlert(alert)
    },
    // Opening it anew goes through SQLite's recovery; until then every call answers with the failure.
    onFailure: () => {
      close().catch((error) => {
        onAlert({ code: 'ACCOUNT_DAMAGED', detail: `close: ${errorCodeOf(error)}` })
      })
    },
    onCommit,
    ...(options.syncCalls && { syncCalls: options.syncCalls })
  })
  return database
}

/**
 * @param {PartsInput} input
 * @returns {StoreParts}
 */
export function makeStoreParts(input) {
  const { options, files, file, key, checkpointer, children } = input
  const { config = {}, onUsage = () => {} } = options
  const { tempFolder, secureDelete } = files
  const { cipher, tempStore } = file
  const quota = { bytes: config.quotaBytes ?? null, messages: config.quotaMessages ?? null }
  const noteCommit = () => housekeeping.noteCommit()
  const onCommit = () => {
    noteCommit()
    indexer.noteWork()
  }
  const chunkCache = options.chunkCache ?? new ChunkCache({ totalBytes: DEFAULT_CHUNK_CACHE_BYTES })
  const chunks = chunkCache.share()
  const onRest = () => housekeeping.noteRest()
  const database = makeDatabase(input, { chunks, onCommit, onRest })
  const settings = { key, cipher, tempStore, tempFolder, secureDelete }
  const threads = new StoreThreads(database, children, settings, onCommit)
  const readAhead = new ReadAhead(threads, chunks)
  const housekeeping = new Housekeeping({
    database,
    checkpointer,
    threads,
    // The index is written anew when much of what it knows has gone.
    onSwept: () => indexer.noteWork(),
    key,
    cipher,
    checkpointBytes: config.checkpointBytes ?? CHECKPOINT_BYTES,
    onUsage
  })
  const keywords = new AccountKeywords(database)
  const views = new ViewKeeper({
    database,
    keywords,
    idle: options.idleViews ?? new IdleViews({ totalBytes: DEFAULT_IDLE_VIEW_BYTES }),
    onManyRows: () => indexer.noteWork()
  })
  const lateMeta = new LateMeta(database)
  const scanPlaces = options.scanPlaces ?? new ScanPlaces({ threads: 1 })
  const scanner = new Scanner(database, { key, cipher, tempStore }, scanPlaces)
  const transfers = new Transfers({ database, views, threads, quota })
  const indexer = new SearchIndexer({ database, threads, noteCommit })
  const maxMessageBytes = config.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
  return {
    database,
    views,
    keywords,
    lateMeta,
    readAhead,
    cachePool: options.cachePool ?? null,
    housekeeping,
    threads,
    transfers,
    indexer,
    scanner,
    quota,
    maxMessageBytes
  }
}
