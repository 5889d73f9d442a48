/**
 * The files of one database: itself, its write-ahead log with the index of that, and the journal that SQLite makes while
 * it turns a file over to WAL mode. One that is left behind would be taken for that of the next database of this name.
 */
import { rm } from 'node:fs/promises'

const SUFFIXES = ['', '-wal', '-shm', '-journal']

/**
 * @param {string} path - of a database
 * @returns {string[]} of all that there may be of it
 */
export const filesOfDatabase = (path) => SUFFIXES.map((suffix) => path + suffix)

/**
 * @param {string} path - of a database that nobody has open; there need be none
 * @returns {Promise<void>}
 */
export async function removeDatabase(path) {
  for (const file of filesOfDatabase(path)) await rm(file, { force: true })
}
