/**
 * What a store is opened with.
 */
import { BUSY_TIMEOUT_MS, DEFAULT_CACHE_BYTES } from '../../database/setup-pragma.js'

/**
 * @typedef {object} StoreConfig
 * @property {import('../../database/temp-store.js').TempStoreChoice} [tempStore] - default memory
 * @property {string} [tempFolder] - what `auto` and `disk` are about; default: the account's folder
 * @property {number} [cacheBytes] - page cache; default 2 MiB
 * @property {'ON' | 'FAST'} [secureDelete] - default ON
 * @property {number} [maxMessageBytes] - default 50 MiB
 * @property {number | null} [quotaBytes] - default null: no limit
 * @property {number | null} [quotaMessages] - default null: no limit
 * @property {number} [checkpointBytes] - what may wait in the `-wal` before a thread moves it; default 4 MiB
 * @property {number} [busyTimeoutMs] - how long a taken lock is waited for; default 30,000
 *
 * @typedef {object} StoreOptions
 * @property {string} folder - the account's folder
 * @property {Uint8Array} key - the raw database key, 32 bytes; copied, the caller zeroes its own
 * @property {import('../../database/setup-pragma.js').Cipher | null} [cipher] - as recorded for the account; null for a
 *   file brought from elsewhere: then `store.cipher` says what it was. Default chacha20
 * @property {boolean} [isReadOnly] - default false
 * @property {StoreConfig} [config]
 * @property {import('../../support/clock.js').Clock} clock
 * @property {{ warn: (fields: object, text: string) => void }} [logger]
 * @property {(usage: import('../housekeeping.js').Usage) => void} [onUsage] - within a second of a change, and at close
 * @property {(alert: import('../account-database.js').Alert) => void} [onAlert] - what an operator must look at
 * @property {import('../../database/checkpoint.js').Checkpointer} [checkpointer] - the process's; default: one of the store's own
 * @property {import('../../database/child.js').ChildPool} [children] - the process's; default: one of the store's own
 * @property {import('../../database/pool.js').CachePool} [cachePool] - the process's; default: `config.cacheBytes` for this
 *   file alone
 * @property {import('../chunk-cache.js').ChunkCache} [chunkCache] - the process's; default: 1 MiB of the store's own
 * @property {import('../idle-views.js').IdleViews} [idleViews] - the process's; default: 8 MiB of the store's own
 * @property {import('../search/scan-places.js').ScanPlaces} [scanPlaces] - the process's; default: one thread for this file alone
 * @property {import('../open-files.js').OpenFiles} [openFiles] - the process's; default: the file stays open
 * @property {Partial<import('../../database/durability.js').SyncCalls>} [syncCalls] - to observe what reaches the disk
 */

/**
 * @param {StoreOptions} options
 * @returns {import('../mail-file.js').FileOptions} with the defaults
 */
export function fileOptions({
  folder,
  key,
  cipher = 'chacha20',
  isReadOnly = false,
  config = {},
  clock
}) {
  return {
    folder,
    key,
    cipher,
    isReadOnly,
    clock,
    tempStore: config.tempStore ?? 'memory',
    tempFolder: config.tempFolder ?? folder,
    secureDelete: config.secureDelete ?? 'ON',
    cacheBytes: config.cacheBytes ?? DEFAULT_CACHE_BYTES,
    busyTimeoutMs: config.busyTimeoutMs ?? BUSY_TIMEOUT_MS
  }
}
