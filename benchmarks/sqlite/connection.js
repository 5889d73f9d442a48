/**
 * Opens a contender's database: the published way (cipher, passphrase, pragmas), or Letterlock's (its own code).
 */
import PlainDatabase from 'better-sqlite3'
import CipherDatabase from 'better-sqlite3-multiple-ciphers'
import { SETTINGS } from '../../config/default.js'
import { Checkpointer } from '../../src/database/checkpoint.js'
import { WalSync } from '../../src/database/durability.js'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { readWal } from '../../src/store/upkeep/space.js'
import { require } from '../lib/question.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./configurations.js').Settings} Settings
 */

const PASSPHRASE = 'benchmark-passphrase'
const RAW_KEY = Buffer.alloc(32, 0x5a)

/** As the server has it by default (storage.checkpointBytes). */
const CHECKPOINT_BYTES = SETTINGS['storage.checkpointBytes'].value

/** What an open mailbox may use of the page cache: as the server has it by default (storage.cacheBytes). */
const CACHE_BYTES = SETTINGS['storage.cacheBytes'].value

const BUSY_TIMEOUT_MS = SETTINGS['storage.busyTimeoutMs'].value

/** The store looks at its log no more often than this, milliseconds. */
const LOOK_INTERVAL_MS = 50

/** One open database, and how it makes a commit durable. */
export class Connection {
  /** @type {Checkpointer | null} */
  #checkpointer = null
  /** @type {Promise<unknown> | null} */
  #checkpoint = null
  /** @type {WalSync | null} */
  #walSync = null
  #lookedAt = 0
  #path
  #settings

  /**
   * @param {string} path
   * @param {Settings} settings
   * @param {{ isNew: boolean }} how
   */
  constructor(path, settings, { isNew }) {
    this.#path = path
    this.#settings = settings
    this.db = settings.engine === 'letterlock' ? this.#openOwn(isNew) : openClassic(path, settings)
  }

  /**
   * @param {boolean} isNew
   * @returns {Database}
   */
  #openOwn(isNew) {
    const { cipher, checkpoints, secureDelete = 'ON' } = this.#settings
    require(cipher !== 'none', 'Letterlock opens no mailbox without a key')
    const isBlocking = checkpoints === 'at commit'
    const path = this.#path
    const { db } = openEncryptedDatabase({
      ...{ path, key: RAW_KEY, cipher, isNew, isBlocking, secureDelete, cacheBytes: CACHE_BYTES }
    })
    if (!isBlocking) this.#checkpointer = new Checkpointer()
    return db
  }

  /**
   * To be called after commits, as the store does: starts a checkpoint in the thread when the log has grown.
   */
  noteCommits() {
    const { cipher } = this.#settings
    if (!this.#checkpointer || this.#checkpoint || cipher === 'none') return
    if (performance.now() - this.#lookedAt < LOOK_INTERVAL_MS) return
    this.#lookedAt = performance.now()
    const { waiting, pageBytes } = readWal(this.db)
    if (waiting * pageBytes < CHECKPOINT_BYTES) return
    // A checkpoint that begins the log anew has the lock for a moment: the server tries again later, these calls wait.
    this.db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const key = new SharedArrayBuffer(32)
    new Uint8Array(key).set(RAW_KEY)
    this.#checkpoint = this.#checkpointer
      .run({ path: this.#path, key, cipher, mode: 'RESTART', mayWait: false })
      .finally(() => (this.#checkpoint = null))
  }

  /**
   * Waits for a checkpoint that is under way.
   *
   * @returns {Promise<boolean>} whether there was one
   */
  async settle() {
    const checkpoint = this.#checkpoint
    await checkpoint
    return checkpoint !== null
  }

  /**
   * From now on `durable` really means the disk.
   */
  makeDurable() {
    if (this.#settings.engine !== 'letterlock') this.db.pragma('synchronous = FULL')
    else {
      this.#walSync = new WalSync({
        databasePath: this.#path,
        onFailure: (error) => {
          throw error
        }
      })
    }
  }

  /** What was committed is on the disk when this resolves: at once where COMMIT itself syncs. */
  async durable() {
    await this.#walSync?.sync()
  }

  /** Closes the file; a checkpoint under way is waited for. */
  async close() {
    await this.#checkpoint
    await this.#walSync?.close()
    await this.#checkpointer?.close()
    this.db.close()
  }
}

/**
 * @param {string} path
 * @param {Settings} settings
 * @returns {Database}
 */
function openClassic(path, { engine, cipher, key, pragmas = [] }) {
  const db =
    engine === 'better-sqlite3'
      ? /** @type {Database} */ (/** @type {unknown} */ (new PlainDatabase(path)))
      : new CipherDatabase(path)
  if (cipher === 'aegis-256') {
    db.pragma("cipher = 'aegis'")
    db.pragma("algorithm = 'aegis-256'")
  } else if (cipher !== 'none') db.pragma(`cipher = '${cipher}'`)
  if (key === 'passphrase') db.key(Buffer.from(PASSPHRASE))
  if (key === 'raw') db.key(Buffer.concat([Buffer.from('raw:'), RAW_KEY]))
  for (const [name, value] of pragmas) db.pragma(`${name} = ${value}`)
  return db
}
