/**
 * The configurations of a public benchmark suite for a production mail service on SQLite, and Letterlock's beside them.
 *
 * The published order of the pragmas is kept for the questions that repeat it "as published"; it sets auto_vacuum after
 * WAL mode, where SQLite ignores it. `correctedOrder` moves what belongs to the file to the front.
 */

/** @typedef {[name: string, value: string | number]} Pragma */

/**
 * @typedef {object} Settings
 * @property {'better-sqlite3' | 'better-sqlite3-multiple-ciphers' | 'letterlock'} engine - `letterlock`:
 *   src/database/open.js with src/database/setup-pragma.js
 * @property {'chacha20' | 'aes256cbc' | 'aegis-256' | 'none'} cipher
 * @property {'passphrase' | 'raw' | 'none'} key
 * @property {Pragma[]} [pragmas] - in this order, after cipher and key
 * @property {'ON' | 'FAST'} [secureDelete]
 * @property {'own thread' | 'own thread, waited for' | 'at commit'} [checkpoints] - waited for: after the setup, outside of
 *   its time
 *
 * @typedef {import('../lib/question.js').Contender & { settings: Settings & Record<string, unknown> }} SqliteContender
 */

/** What the service itself sets, in its order. */
/** @type {readonly Pragma[]} */
const PRODUCTION = [
  ['journal_mode', 'WAL'],
  ['secure_delete', 'ON'],
  ['auto_vacuum', 'FULL'],
  ['busy_timeout', 30_000],
  ['synchronous', 'NORMAL'],
  ['foreign_keys', 'ON'],
  ['encoding', "'UTF-8'"],
  ['optimize', '0x10002'],
  ['temp_store', 1]
]

/** The list that the suite publishes as the service's, which is another one. */
/** @type {readonly Pragma[]} */
const PUBLISHED_LIST = [
  ['analysis_limit', 400],
  ['auto_vacuum', 'NONE'],
  ['automatic_index', 'ON'],
  ['busy_timeout', 30_000],
  ['cache_size', -16_000],
  ['foreign_keys', 'ON'],
  ['journal_mode', 'WAL'],
  ['synchronous', 'NORMAL'],
  ['temp_store', 1],
  ['wal_autocheckpoint', 1000]
]

/** @type {readonly Pragma[]} */
const BASELINE = [
  ['journal_mode', 'WAL'],
  ['synchronous', 'NORMAL']
]

/**
 * @param {Pragma[]} changes - values that differ, or are added at the end
 * @returns {Pragma[]}
 */
function productionWith(...changes) {
  const changed = new Map([...PRODUCTION, ...changes])
  return [...changed]
}

/**
 * @param {string} id
 * @param {string} label
 * @param {Pragma[]} pragmas
 * @param {Partial<Settings>} [settings]
 * @returns {SqliteContender}
 */
const classic = (id, label, pragmas, settings) => ({
  id,
  label,
  isPeer: id === 'production',
  settings: {
    engine: 'better-sqlite3-multiple-ciphers',
    cipher: 'chacha20',
    key: 'passphrase',
    pragmas,
    ...settings
  }
})

/**
 * @param {string} id
 * @param {string} label
 * @param {Partial<Settings>} [settings]
 * @returns {SqliteContender}
 */
const letterlock = (id, label, settings) => ({
  id,
  label,
  isPeer: false,
  settings: {
    engine: 'letterlock',
    cipher: 'chacha20',
    key: 'raw',
    secureDelete: 'ON',
    checkpoints: 'own thread',
    ...settings
  }
})

const CACHE = /** @type {Pragma} */ (['cache_size', -64_000])
const MMAP = /** @type {Pragma} */ (['mmap_size', 268_435_456])

/** @type {readonly SqliteContender[]} */
export const CONFIGURATIONS = [
  classic('production', 'Production', productionWith()),
  classic('production-list', 'Production, as listed', [...PUBLISHED_LIST]),
  classic(
    'autocheckpoint',
    'WAL autocheckpoint 1000',
    productionWith(['wal_autocheckpoint', 1000])
  ),
  classic('memory-temp', 'Memory temp storage', productionWith(['temp_store', 2])),
  classic('cache', 'Cache 64 MB', productionWith(CACHE)),
  classic('mmap', 'mmap 256 MB', productionWith(MMAP)),
  classic('sync-off', 'Synchronous OFF', productionWith(['synchronous', 'OFF'])),
  classic('sync-extra', 'Synchronous EXTRA', productionWith(['synchronous', 'EXTRA'])),
  classic('incremental', 'Incremental vacuum', productionWith(['auto_vacuum', 'INCREMENTAL'])),
  classic('no-auto-vacuum', 'No auto_vacuum', productionWith(['auto_vacuum', 'NONE'])),
  classic('analysis', 'analysis_limit 1000', productionWith(['analysis_limit', 1000])),
  classic('busy', 'busy_timeout 60 s', productionWith(['busy_timeout', 60_000])),
  classic('cache-mmap', 'Cache + mmap', productionWith(CACHE, MMAP)),
  classic(
    'all',
    'All optimisations',
    productionWith(['temp_store', 2], ['wal_autocheckpoint', 1000], CACHE, MMAP, [
      'analysis_limit',
      1000
    ])
  ),
  classic('baseline', 'Baseline (few pragmas)', [...BASELINE]),
  classic('aes256cbc', 'Production, aes256cbc', productionWith(), { cipher: 'aes256cbc' }),
  classic('aegis', 'Production, aegis-256', productionWith(), { cipher: 'aegis-256' }),
  classic('no-cipher', 'Production, no encryption', productionWith(), {
    cipher: 'none',
    key: 'none'
  }),
  classic('plain', 'better-sqlite3 without encryption', [...BASELINE], {
    engine: 'better-sqlite3',
    cipher: 'none',
    key: 'none'
  }),
  letterlock('letterlock', 'Letterlock (chacha20)'),
  letterlock('letterlock-fast', 'Letterlock, secure_delete FAST', { secureDelete: 'FAST' }),
  letterlock('letterlock-aegis', 'Letterlock, aegis-256', { cipher: 'aegis-256' }),
  letterlock('letterlock-blocking', 'Letterlock, connection of the CLI', {
    checkpoints: 'at commit'
  })
]

/** In the published suite everything follows at once, and the first hundred milliseconds are those in which a thread starts. */
export const SETTLED = letterlock('letterlock-settled', 'Letterlock, its checkpoint waited for', {
  checkpoints: 'own thread, waited for'
})

/** Pragmas that a file takes only while it is empty and not in WAL mode. */
const OF_THE_FILE = ['page_size', 'auto_vacuum', 'encoding']

/**
 * @param {readonly Pragma[]} pragmas
 * @returns {Pragma[]} the same, with those first that SQLite would ignore later
 */
function correctedOrder(pragmas) {
  const isOfTheFile = (/** @type {Pragma} */ [name]) => OF_THE_FILE.includes(name)
  return [
    ...pragmas.filter(isOfTheFile),
    ...pragmas.filter((pragma) => !isOfTheFile(pragma) && pragma[0] !== 'optimize'),
    ...pragmas.filter(([name]) => name === 'optimize')
  ]
}

/**
 * @param {SqliteContender} contender
 * @returns {SqliteContender}
 */
export const withCorrectedOrder = (contender) => {
  const { pragmas } = contender.settings
  if (!pragmas) return contender
  return { ...contender, settings: { ...contender.settings, pragmas: correctedOrder(pragmas) } }
}
