/**
 * Folders whose files have to go: their keys are destroyed, or they were made for an account that never came to be. No account
 * stands in a folder that is listed: whoever removes its files would remove that account's mail.
 */
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { storedFolder } from './directory-rows.js'

/** @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection */

/** The rows of an account follow its mailbox's folder within a moment: after so many ms, whoever made the folder is dead. */
const PLANNED_MS = 60 * 60_000

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
 * Makes sure that an account may stand in the folder; part of the caller's transaction. A folder that is to be removed stays
 * listed: somebody may be removing its files just now.
 *
 * @param {DirectoryConnection} connection
 * @param {string} folder - as stored
 * @throws {MailError} BUSY
 */
export function takeFolder(connection, folder) {
  const isListed = connection
    .prepare(
      `SELECT 1 FROM removals WHERE folder = $folder UNION ALL
       SELECT 1 FROM planned_folders WHERE folder = $folder AND until_ms <= $nowMs`
    )
    .get({ folder, nowMs: connection.clock.nowMs() })
  if (isListed)
    throw new MailError('BUSY', { detail: 'the folder of an erased mailbox is not removed yet' })
  connection.prepare('DELETE FROM planned_folders WHERE folder = ?').run(folder)
}

/** The removal part of the directory. */
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
          `SELECT folder, min(at_ms) AS at_ms
           FROM (SELECT folder, requested_at_ms AS at_ms FROM removals UNION ALL
             SELECT folder, until_ms FROM planned_folders WHERE until_ms <= ?)
           WHERE folder NOT IN (SELECT folder FROM accounts) GROUP BY folder ORDER BY at_ms`
        )
        .all(this.connection.clock.nowMs())
    )
    return rows.map((row) => join(this.dataFolder, row.folder))
  }

  /** @returns {Promise<{ ofAccounts: string[], passing: string[] }>} see NodeDirectory */
  async listFolders() {
    const list = (/** @type {string} */ sql) =>
      this.connection
        .prepare(sql)
        .all()
        .map((row) => join(this.dataFolder, row.folder))
    return await this.connection.read(() => ({
      ofAccounts: list('SELECT folder FROM accounts'),
      passing: list('SELECT folder FROM removals UNION SELECT folder FROM planned_folders')
    }))
  }

  /** @param {string} folder - absolute */
  async finishRemoval(folder) {
    const path = storedFolder(this.dataFolder, folder)
    await this.connection.write(() => {
      for (const table of ['removals', 'planned_folders'])
        this.connection.prepare(`DELETE FROM ${table} WHERE folder = ?`).run(path)
    })
  }

  /** @param {string} folder - absolute; about to be made */
  async planFolder(folder) {
    const path = storedFolder(this.dataFolder, folder)
    const untilMs = this.connection.clock.nowMs() + PLANNED_MS
    await this.connection.write(() =>
      this.connection
        .prepare('INSERT OR REPLACE INTO planned_folders (folder, until_ms) VALUES (?, ?)')
        .run(path, untilMs)
    )
  }
}
