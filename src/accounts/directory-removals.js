/**
 * Folders whose keys are destroyed and whose files still have to go. No account stands in a folder that is listed: whoever
 * removes its files would remove that account's mail.
 */
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { storedFolder } from './directory-rows.js'

/** @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection */

/**
 * Part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {string} folder - as stored; it may be listed already, by a version that let an account stand in it
 */
export function queueRemoval(connection, folder) {
  connection
    .prepare('INSERT OR IGNORE INTO removals (folder, requested_at_ms) VALUES (?, ?)')
    .run(folder, connection.clock.nowMs())
}

/**
 * Part of the caller's transaction. The row is not deleted instead: somebody may be removing the files just now.
 *
 * @param {DirectoryConnection} connection
 * @param {string} folder - as stored
 * @throws {MailError} BUSY
 */
export function requireNotListed(connection, folder) {
  if (connection.prepare('SELECT 1 FROM removals WHERE folder = ?').get(folder))
    throw new MailError('BUSY', { detail: 'the folder of an erased mailbox is not removed yet' })
}

/** The list of them. */
export class DirectoryRemovals {
  /**
   * @param {object} options
   * @param {DirectoryConnection} options.connection
   * @param {string} options.dataFolder - absolute
   */
  constructor({ connection, dataFolder }) {
    this.connection = connection
    this.dataFolder = dataFolder
  }

  /** @returns {Promise<string[]>} absolute folders, none of them an account's */
  async listRemovals() {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT folder FROM removals WHERE folder NOT IN (SELECT folder FROM accounts)
           ORDER BY requested_at_ms`
        )
        .all()
    )
    return rows.map((row) => join(this.dataFolder, row.folder))
  }

  /** @param {string} folder - absolute */
  async finishRemoval(folder) {
    const path = storedFolder(this.dataFolder, folder)
    await this.connection.write(() =>
      this.connection.prepare('DELETE FROM removals WHERE folder = ?').run(path)
    )
  }
}
