/**
 * Every setting of a connection, in the one order that works, each with unit and reason.
 *
 * Settings of the file (page_size, auto_vacuum, encoding, journal_mode) are made when the file is new and only
 * verified afterwards: setting auto_vacuum again at open writes a WAL frame, bumps data_version for everybody
 * else and answers BUSY while another process writes (measured).
 */
import { MailError } from '../errors.js'
import { isBusy } from './sqlite-error.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {'chacha20' | 'aegis-256' | 'aes256cbc'} Cipher
 */

/** The names of the ciphers as this program records them, and as SQLite3 Multiple Ciphers calls them. */
const CIPHER_NAMES = Object.freeze({
  // ChaCha20-Poly1305 with a MAC on each page: the default, fast without hardware help.
  chacha20: ['chacha20'],
  // Authenticated, 256-bit key, 2.4 to 5 times faster in bulk on hosts with AES-NI.
  'aegis-256': ['aegis', "algorithm = 'aegis-256'"],
  // Unauthenticated: only for files that were brought from elsewhere, until they are converted.
  aes256cbc: ['aes256cbc']
})

/**
 * Page size, bytes. 4096 is best for small writes with the scalar ChaCha20 of SQLite3MC; AEGIS is so fast that
 * the fewer, larger pages win.
 *
 * @param {Cipher} cipher
 * @returns {number}
 */
export const pageSizeFor = (cipher) => (cipher === 'aegis-256' ? 8192 : 4096)

/** auto_vacuum: 2 is INCREMENTAL. FULL makes deletes 2 to 3.5 times dearer, NONE never gives space back. */
const AUTO_VACUUM_INCREMENTAL = 2

/** At most so many tries to switch to WAL, where several processes make a file at once: each of the others is in the way once. */
const MAX_WAL_TRIES = 10

/** A blocking connection (CLI, threads) waits at most so many ms for a lock. */
export const BUSY_TIMEOUT_MS = 30_000

/** With so many pages in the WAL a connection checkpoints at its own commit; 1000 pages are about 4 MB. */
const WAL_AUTOCHECKPOINT_PAGES = 1000

/** A WAL that has grown beyond so many bytes (a long reader, a large import) is cut back at its next restart. */
const JOURNAL_SIZE_LIMIT_BYTES = 16 * 1024 * 1024

/** ANALYZE looks at most at so many rows per index: `optimize` takes milliseconds, whatever the size of the file. */
const ANALYSIS_LIMIT_ROWS = 400

/** Default page cache of one connection, bytes. An idle mailbox never fills it; see pool.js for the budget. */
export const DEFAULT_CACHE_BYTES = 2 * 1024 * 1024

/**
 * The raw key in the form that db.key() takes: the ASCII letters `raw:` and the 32 bytes. Without them the
 * bytes would be a passphrase and cost a PBKDF2 of 22 ms at each open. Own memory, never Node's shared pool.
 *
 * @param {Uint8Array} key - 32 bytes
 * @returns {Buffer} 36 bytes; the caller zeroes it
 * @throws {RangeError} when the key is not 32 bytes long
 */
export function rawKey(key) {
  if (key.length !== 32) throw new RangeError('A database key has 32 bytes')
  const buffer = Buffer.alloc(36)
  buffer.write('raw:', 'latin1')
  buffer.set(key, 4)
  return buffer
}

/**
 * Chooses the cipher and hands over the key. Must be the first thing on a connection; nothing is read yet, so
 * a wrong key shows only at the first statement.
 *
 * @param {Database} db
 * @param {Cipher} cipher
 * @param {Uint8Array} key - 32 bytes, raw
 */
export function applyKey(db, cipher, key) {
  applyCipher(db, cipher)
  const buffer = rawKey(key)
  try {
    db.key(buffer)
  } finally {
    buffer.fill(0)
  }
}

/**
 * Selects the cipher for the next key() or rekey() of this connection.
 *
 * @param {Database} db
 * @param {Cipher} cipher
 */
export function applyCipher(db, cipher) {
  const [name, ...options] = CIPHER_NAMES[cipher]
  db.exec([`cipher = '${name}'`, ...options].map((pragma) => `PRAGMA ${pragma};`).join(''))
}

/**
 * @param {Database} db
 * @param {string} name
 * @returns {unknown}
 */
const valueOf = (db, name) => db.pragma(name, { simple: true })

/**
 * @param {Database} db
 * @param {string} name
 * @param {unknown} expected
 */
function verify(db, name, expected) {
  const actual = valueOf(db, name)
  if (actual !== expected)
    throw new MailError('SCHEMA_MISMATCH', { detail: `${name} is ${actual}, not ${expected}` })
}

/**
 * Makes the settings that stay with the file. The order matters: auto_vacuum set after journal_mode=WAL silently
 * stays NONE (measured), because WAL writes the first page.
 *
 * @param {Database} db - with its key, empty
 * @param {number} pageSizeBytes
 */
export function setupNewFile(db, pageSizeBytes) {
  db.pragma(`page_size = ${pageSizeBytes}`)
  db.pragma('auto_vacuum = INCREMENTAL')
  // Mailbox names and keywords are Unicode; UTF-8 is what goes over the wire.
  db.pragma("encoding = 'UTF-8'")
  // Readers never wait for the writer, and a commit is one append to the -wal file.
  switchToWal(db)
}

/**
 * Switches to WAL mode. While another process makes the same file, SQLite does not wait for it in this one statement,
 * whatever the busy timeout (measured).
 *
 * @param {Database} db
 */
function switchToWal(db) {
  for (let tries = 1; ; tries++) {
    try {
      db.pragma('journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || tries === MAX_WAL_TRIES) throw error
    }
    // SQLite does wait in this statement.
    db.exec('BEGIN IMMEDIATE')
    db.exec('ROLLBACK')
  }
}

/**
 * @typedef {object} PragmaOptions
 * @property {boolean} isReadOnly - nothing is written, not even statistics
 * @property {import('./temp-store.js').TempStore} tempStore
 * @property {string} [tempFolder] - where `disk` is
 * @property {'ON' | 'FAST'} secureDelete - ON overwrites what is deleted; FAST only where no extra I/O is needed
 *   (deletes cost 1.8 to 4 times less)
 * @property {number} cacheBytes - page cache, bytes
 * @property {boolean} hasOwnCheckpoints - true on the server's connections: a thread checkpoints, so that no
 *   commit stalls the event loop (70 ms measured with autocheckpoint)
 * @property {'OFF' | 'NORMAL' | 'FULL'} synchronous - NORMAL where durability.js syncs before each acknowledgement; FULL where
 *   the caller relies on COMMIT alone; OFF for a file that is nobody's before the caller has synced it as a whole
 */

/**
 * Makes the settings of the connection, after the file's own are in place.
 *
 * @param {Database} db
 * @param {PragmaOptions} options
 */
export function setupConnection(db, options) {
  const { hasOwnCheckpoints, tempStore, tempFolder } = options
  const pragmas = {
    secure_delete: options.secureDelete,
    synchronous: options.synchronous,
    foreign_keys: 'ON',
    wal_autocheckpoint: hasOwnCheckpoints ? 0 : WAL_AUTOCHECKPOINT_PAGES,
    journal_size_limit: JOURNAL_SIZE_LIMIT_BYTES,
    // Negative: KiB instead of pages, so that the budget does not depend on the page size.
    cache_size: -Math.ceil(options.cacheBytes / 1024),
    // Memory unless the temporary folder is known to be on an encrypted device: see temp-store.js.
    temp_store: tempStore === 'disk' ? 1 : 2,
    // Mapped pages would be ciphertext, so the cipher needs its own copy anyway.
    mmap_size: 0,
    // Protects against a schema that was edited to call functions behind our back.
    trusted_schema: 'OFF',
    analysis_limit: ANALYSIS_LIMIT_ROWS
  }
  // All in one call: a statement object for each was half the time of opening a file (measured).
  db.exec(
    Object.entries(pragmas)
      .map(([name, value]) => `PRAGMA ${name} = ${value};`)
      .join('')
  )
  if (tempStore === 'disk' && tempFolder) setTempFolder(db, tempFolder)
}

/**
 * SQLite has one temporary folder for the whole process, which must not change while a statement uses it: it is set at the
 * first open, and left alone afterwards.
 *
 * @param {Database} db
 * @param {string} folder
 */
function setTempFolder(db, folder) {
  if (valueOf(db, 'temp_store_directory') === folder) return
  db.pragma(`temp_store_directory = '${folder.replaceAll("'", "''")}'`)
}

/**
 * Checks that an existing file has the settings that this program makes.
 *
 * @param {Database} db
 * @throws {MailError} SCHEMA_MISMATCH
 */
export function verifyFile(db) {
  verify(db, 'journal_mode', 'wal')
  verify(db, 'auto_vacuum', AUTO_VACUUM_INCREMENTAL)
  verify(db, 'encoding', 'UTF-8')
}
