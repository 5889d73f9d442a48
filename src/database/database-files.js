/**
 * The files of one database: itself, its write-ahead log with the index of the log, and the journal that SQLite makes while
 * it switches a file to WAL mode. A log or journal that is left behind would be taken for that of the next database of the name.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Name of a mailbox's database: in its account's folder, in backups, and in folders that become one of these. */
export const MAIL_FILE = 'mail.db'

const SUFFIXES = ['', '-wal', '-shm', '-journal']

/**
 * @param {string} folder - of an account
 * @returns {string} the path of its mailbox's database
 */
export const mailFile = (folder) => join(folder, MAIL_FILE)

/**
 * @param {string} path - of a database
 * @returns {string[]} paths of all files that the database may have
 */
export const filesOfDatabase = (path) => SUFFIXES.map((suffix) => path + suffix)

/**
 * @param {string} path - of a database that nobody has open; there need be none
 * @returns {Promise<void>}
 */
export async function removeDatabase(path) {
  for (const file of filesOfDatabase(path)) await rm(file, { force: true })
}
