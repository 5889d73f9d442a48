/**
 * The parts that the open mailboxes of a process share: threads, child processes, and one budget for each kind of memory.
 */
import { Checkpointer } from '../database/checkpoint.js'
import { ChildPool } from '../database/child.js'
import { CachePool, cacheBudget } from '../database/pool.js'
import { ChunkCache } from '../store/chunk-cache.js'
import { IdleViews } from '../store/idle-views.js'
import { OpenFiles } from '../store/open-files.js'
import { ScanPlaces } from '../store/search/scan-places.js'

/** @typedef {import('../store/account-store.js').AccountStore} AccountStore */

/**
 * @typedef {object} SharedFigures
 * @property {number} awake - mailboxes with their file open
 * @property {number} cacheBytes - that the page caches of the files may use together
 * @property {number} chunkBytes - unpacked pieces of long messages that are kept
 * @property {number} viewBytes - of the views in memory
 * @property {number} idleViewBytes - of these, of views that nobody uses
 * @property {number} searchThreads - of long searches, at work or idle
 * @property {number} searchesWaiting - mailboxes whose long searches wait for a thread
 * @property {number} largestWalBytes - as of the last sync
 */

/** The shared parts of one process. */
export class SharedParts {
  #checkpointer = new Checkpointer()
  #children = new ChildPool()
  #cachePool
  #chunkCache
  #idleViews
  #openFiles
  #scanPlaces
  /** @type {Set<AccountStore>} */
  #stores = new Set()

  /** @param {Pick<import('./services.js').AccountServices, 'config' | 'logger'>} services */
  constructor({ config, logger }) {
    const { storage } = config
    this.#cachePool = new CachePool({
      totalBytes: cacheBudget(storage.totalCacheBytes),
      maxShareBytes: storage.cacheBytes,
      maxReaderBytes: storage.readerCacheBytes
    })
    this.#chunkCache = new ChunkCache({ totalBytes: storage.chunkCacheBytes })
    this.#idleViews = new IdleViews({ totalBytes: storage.idleViewBytes })
    this.#scanPlaces = new ScanPlaces({ threads: storage.searchThreads })
    this.#openFiles = new OpenFiles({
      sleepAfterMs: storage.sleepAfterMs,
      maxAwake: storage.maxOpenFiles,
      onError: (err) => logger.error({ err }, 'closing the file of an idle mailbox failed')
    })
  }

  /** The parts that a store is opened with. */
  get forStore() {
    return {
      checkpointer: this.#checkpointer,
      children: this.#children,
      cachePool: this.#cachePool,
      chunkCache: this.#chunkCache,
      idleViews: this.#idleViews,
      scanPlaces: this.#scanPlaces,
      openFiles: this.#openFiles
    }
  }

  /** @param {AccountStore} store - that was opened with these parts */
  join(store) {
    this.#stores.add(store)
  }

  /** @param {AccountStore} store - that is about to be closed */
  leave(store) {
    this.#stores.delete(store)
  }

  /** @returns {number} mailboxes with their file open; the others sleep */
  get awakeFiles() {
    return this.#openFiles.awake
  }

  /** @returns {SharedFigures} */
  get figures() {
    const figures = {
      awake: this.awakeFiles,
      cacheBytes: this.#cachePool.grantedBytes,
      chunkBytes: this.#chunkCache.usedBytes,
      viewBytes: 0,
      idleViewBytes: this.#idleViews.usedBytes,
      searchThreads: this.#scanPlaces.threads,
      searchesWaiting: this.#scanPlaces.waiting,
      largestWalBytes: 0
    }
    for (const { viewBytes, walBytes } of this.#stores) {
      figures.viewBytes += viewBytes
      figures.largestWalBytes = Math.max(figures.largestWalBytes, walBytes)
    }
    return figures
  }

  /** To be called when all stores are closed. */
  async close() {
    await this.#checkpointer.close()
    this.#children.close()
  }
}
