/**
 * The account's keyword table as this process knows it.
 */
import { KeywordTable } from './flags.js'
import { readKeywords } from './keyword-rows.js'

/** Holds the newest table; keywords only become more, so the larger of two is the newer. */
export class AccountKeywords {
  #database
  #table = new KeywordTable()

  /** @param {import('./account-database.js').AccountDatabase} database */
  constructor(database) {
    this.#database = database
    this.#table.load(readKeywords(database.db))
  }

  /** @returns {KeywordTable} replaced when it grows: look it up each time */
  get table() {
    return this.#table
  }

  /** @param {KeywordTable} table - as of a transaction that is durable */
  adopt(table) {
    if (table.names.length > this.#table.names.length) this.#table = table
  }

  /** Takes in what other processes have added. */
  async reload() {
    const isNews = (/** @type {unknown[]} */ { length }) => length !== this.#table.names.length
    const rows = await this.#database.read(readKeywords, isNews)
    if (!isNews(rows)) return
    const table = new KeywordTable()
    table.load(rows)
    this.adopt(table)
  }
}
