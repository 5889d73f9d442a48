/**
 * Rows of a damaged file that no tree leads to any more: one damaged inner page hides thousands of sound ones. Every page
 * is looked at as if it were the only one of a table; SQLite reads it, its overflow pages included, and the rows of the
 * three tables that hold the mail are known by their shape.
 *
 * To that end `sqlite_schema` names a table for each page, in a file into which the pages are transplanted. Pages are not read
 * in a transaction: after a page that does not authenticate, all further reads of a transaction fail (measured).
 */
import { isCodec } from '../chunk-codec.js'
import { UNREADABLE, tryRead } from './readable-rows.js'
import { FIRST_PAGE } from './transplant.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {{ codec: number, data: Buffer }} Chunk
 */

/** Pages that `sqlite_schema` names at a time. */
const PAGES_AT_ONCE = 2000

/** As many columns as the widest of the three tables has; those that a row lacks are NULL. */
const COLUMNS = 'id INTEGER PRIMARY KEY, a, b, c, d, e, f, g, h'

/** @param {unknown} value */
const isInteger = (value) => typeof value === 'number'

/** The pages of one file. */
export class LeafPages {
  #db
  /** @type {Map<number, number[]>} pages that may have a chunk, by its id */
  #chunks = new Map()
  /** @type {Map<number, { hash: Buffer, size: number, chunk_size: number }>} complete ones */
  #contents = new Map()
  /** @type {Map<number, any>} */
  #messages = new Map()

  /**
   * @param {Database} db - of transplantPages
   * @param {number} pages - of the damaged file
   */
  constructor(db, pages) {
    this.#db = db
    const unsafe = /** @type {{ unsafeMode: () => void }} */ (/** @type {unknown} */ (db))
    unsafe.unsafeMode()
    db.pragma('synchronous = OFF')
    for (let first = FIRST_PAGE; first <= pages; first += PAGES_AT_ONCE) {
      const batch = Array.from(
        { length: Math.min(PAGES_AT_ONCE, pages - first + 1) },
        (_, index) => first + index
      )
      this.#nameTables(batch)
      for (const page of batch) this.#notePage(page)
    }
    this.#nameTables([...new Set([...this.#chunks.values()].flat())])
  }

  /** @returns {IterableIterator<any>} rows of `messages`, in no order */
  messages() {
    return this.#messages.values()
  }

  /**
   * @param {number} id
   * @returns {{ hash: Buffer, size: number, chunk_size: number } | undefined} of a complete content
   */
  content(id) {
    return this.#contents.get(id)
  }

  /**
   * @param {number} id - content_chunks.id
   * @returns {Chunk[]} rows that may be that chunk: other tables have rows of the same shape
   */
  chunks(id) {
    return (this.#chunks.get(id) ?? []).flatMap((page) => {
      const row = tryRead(
        () =>
          /** @type {Chunk | undefined} */ (
            this.#db.prepare(`SELECT a AS codec, b AS data FROM page${page} WHERE id = ?`).get(id)
          )
      )
      return row === UNREADABLE || row === undefined ? [] : [row]
    })
  }

  /** Lets go of the copy. */
  close() {
    this.#db.close()
  }

  /** @param {readonly number[]} pages - `page<number>` is a table of each of these alone */
  #nameTables(pages) {
    const db = this.#db
    db.pragma('writable_schema = ON')
    db.exec('BEGIN IMMEDIATE; DELETE FROM sqlite_schema')
    const insert = db.prepare(
      "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('table', $name, $name, $page, $sql)"
    )
    for (const page of pages) {
      const name = `page${page}`
      insert.run({ name, page, sql: `CREATE TABLE ${name} (${COLUMNS})` })
    }
    db.exec('COMMIT')
    db.pragma('writable_schema = RESET')
  }

  /** @param {number} page */
  #notePage(page) {
    tryRead(() => {
      // The text of a message is not read here: `b` of a chunk is asked for its type alone.
      const rows = this.#db.prepare(
        `SELECT id, a, typeof(b) AS kind, CASE WHEN typeof(b) = 'blob' THEN NULL ELSE b END AS b,
           c, d, e, f, g, h FROM page${page}`
      )
      for (const row of rows.iterate()) this.#noteRow(/** @type {any} */ (row), page)
    })
  }

  /**
   * @param {any} row
   * @param {number} page
   */
  #noteRow({ id, a, kind, b, c, d, e, f, g, h }, page) {
    if ([a, b, c, d, e, f, g, h].every(isInteger)) {
      // Free pages may have the row as it was before.
      if (a < (this.#messages.get(id)?.modseq ?? 0)) return
      this.#messages.set(id, {
        id,
        modseq: a,
        flags: b,
        keywords: c,
        internal_date: d,
        internal_zone: e,
        saved_at: f,
        size: g,
        content_id: h
      })
    } else if (Buffer.isBuffer(a) && isInteger(b) && isInteger(c) && e === null)
      // A row without a hash may be from before the content was complete, on a page that is free by now: a message knows better.
      this.#contents.set(id, { hash: a, size: b, chunk_size: c })
    else if (isCodec(a) && kind === 'blob' && c === null)
      this.#chunks.set(id, [...(this.#chunks.get(id) ?? []), page])
  }
}

/**
 * The pages of a file, looked at when they are first asked for: most damage needs none of them.
 *
 * @param {() => ReturnType<typeof import('./transplant.js').transplantPages>} transplant
 * @returns {{ get: () => LeafPages, close: () => void }}
 */
export function lazyLeafPages(transplant) {
  /** @type {LeafPages | undefined} */
  let leafPages
  return {
    get: () => {
      if (leafPages !== undefined) return leafPages
      const { db, pages } = transplant()
      try {
        return (leafPages = new LeafPages(db, pages))
      } catch (error) {
        db.close()
        throw error
      }
    },
    close: () => leafPages?.close()
  }
}
