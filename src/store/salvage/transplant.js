/**
 * Puts the pages of a damaged file into a sound one, each at its place: how a page is encrypted depends on the key and on its
 * number alone. What SQLite itself needs to work (the first page, the list of free pages, the map of which page belongs to
 * which) is then that of the sound file, whatever has become of it in the damaged one.
 *
 *     1 │ 2 │ 3 … those of the damaged file │ what SQLite adds
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import Database from '../../database/library.js'
import { applyKey } from '../../database/setup-pragma.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} DatabaseHandle
 * @typedef {{ cipher: import('../../database/setup-pragma.js').Cipher, key: Uint8Array }} Encryption
 */

/** The first page that is taken over: of a mailbox's file the second one is SQLite's map. */
export const FIRST_PAGE = 3

/** Bytes of one filler value: SQLite allows at most a thousand million. */
const MAX_FILLER_BYTES = 500_000_000

const PIECE_BYTES = 1024 * 1024

/**
 * @param {string} from - the damaged file, with nothing left in its `-wal`. Its descriptor is opened and closed, which drops
 *   the locks that SQLite has on it in this process
 * @param {string} to - must not exist
 * @param {Encryption} encryption
 * @param {number} pageBytes - of the damaged file, which may be those of another cipher that it once had
 * @returns {{ db: DatabaseHandle, pages: number }} a database whose tables are of no use; how many pages the damaged file has
 * @throws what SQLite and the file system throw
 */
export function transplantPages(from, to, encryption, pageBytes) {
  const source = openSync(from, 'r')
  try {
    const pages = Math.floor(fstatSync(source).size / pageBytes)
    makeRoom(to, encryption, { pages, pageBytes })
    const target = openSync(to, 'r+')
    try {
      copyBytes(source, target, { at: (FIRST_PAGE - 1) * pageBytes, end: pages * pageBytes })
    } finally {
      closeSync(target)
    }
    return { db: openWithKey(to, encryption), pages }
  } finally {
    closeSync(source)
  }
}

/**
 * @param {string} path
 * @param {Encryption} encryption
 * @returns {DatabaseHandle}
 */
function openWithKey(path, { cipher, key }) {
  const db = new Database(path)
  applyKey(db, cipher, key)
  return db
}

/**
 * Makes a file in which the pages belong to one table that nobody reads.
 *
 * @param {string} path
 * @param {Encryption} encryption
 * @param {{ pages: number, pageBytes: number }} room - at least so many
 */
function makeRoom(path, encryption, { pages, pageBytes }) {
  const db = openWithKey(path, encryption)
  try {
    db.pragma(`page_size = ${pageBytes}`)
    db.pragma('journal_mode = OFF')
    db.pragma('synchronous = OFF')
    db.exec('CREATE TABLE filler (bytes BLOB)')
    const fill = db.prepare('INSERT INTO filler (bytes) VALUES (zeroblob(?))')
    for (;;) {
      const missing = pages - Number(db.pragma('page_count', { simple: true }))
      if (missing <= 0) break
      fill.run(Math.min(missing * pageBytes, MAX_FILLER_BYTES))
    }
  } finally {
    db.close()
  }
}

/**
 * @param {number} source - descriptor
 * @param {number} target - descriptor
 * @param {{ at: number, end: number }} range - of both, bytes
 */
function copyBytes(source, target, { at, end }) {
  const piece = Buffer.alloc(PIECE_BYTES)
  while (at < end) {
    const read = readSync(source, piece, 0, Math.min(piece.length, end - at), at)
    if (read === 0) return
    for (let written = 0; written < read;)
      written += writeSync(target, piece, written, read - written, at + written)
    at += read
  }
}
