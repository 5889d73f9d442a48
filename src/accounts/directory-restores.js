/**
 * Restores that are not over yet, and deletions, which backups must follow.
 */

import { MailError } from '../errors.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').PendingRestore} PendingRestore
 */

/**
 * Part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {Omit<PendingRestore, 'isUnlifted'>} restore - takes the place of one that was not over. If that one has put the mailbox
 *   in place which is there now, the row keeps what it still waits for
 */
export function writeRestore(connection, restore) {
  connection
    .prepare(
      `INSERT OR REPLACE INTO restores (account_id, generation, state, staged, replaced, cipher, requested_at_ms,
         before_state, before_generation)
       SELECT $accountId, $generation, $state, $staged, $replaced, $cipher, $requestedAtMs,
         iif(state IN ('lift', 'check'), state, before_state),
         iif(state IN ('lift', 'check'), generation, before_generation)
       FROM (SELECT 1) LEFT JOIN restores ON account_id = $accountId`
    )
    .run(restore)
  if (restore.state === 'lift') countLifts(connection, restore.accountId, 1)
}

/**
 * Part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {string} accountId
 * @param {number} more - lifts that its mailbox is to have besides those of before
 */
export function countLifts(connection, accountId, more) {
  connection
    .prepare(
      `INSERT INTO lifts (account_id, lifts) VALUES (?, ?)
       ON CONFLICT (account_id) DO UPDATE SET lifts = lifts + excluded.lifts`
    )
    .run(accountId, more)
}

const NOTHING_BEFORE = 'before_state = NULL, before_generation = NULL'

/** A restore is called off, and the mailbox in place has come out of a backup itself. */
const BACK_TO_BEFORE = `UPDATE restores SET state = before_state, generation = before_generation, staged = '', replaced = '',
  ${NOTHING_BEFORE}`

/** The restore part of the directory. */
export class DirectoryRestores {
  /** @param {DirectoryConnection} connection */
  constructor(connection) {
    this.connection = connection
  }

  /**
   * @param {string} accountId
   * @returns {Promise<PendingRestore | null>}
   */
  async findRestore(accountId) {
    const row = await this.connection.read(() =>
      this.connection.prepare('SELECT * FROM restores WHERE account_id = ?').get(accountId)
    )
    if (!row) return null
    return {
      accountId: row.account_id,
      generation: row.generation,
      state: row.state,
      staged: row.staged,
      replaced: row.replaced,
      cipher: row.cipher,
      requestedAtMs: row.requested_at_ms,
      ...(row.before_state === 'lift' && { isUnlifted: true })
    }
  }

  /**
   * @param {PendingRestore & { keyEpoch?: number }} restore - takes the place of one that was not over; `keyEpoch`: of the
   *   backup, if the account must have the same
   * @throws {MailError} RESTORE_REFUSED where the account has another key, or is getting one
   */
  async beginRestore({ keyEpoch, ...restore }) {
    const { connection } = this
    await connection.write(() => {
      if (keyEpoch !== undefined) this.#requireSameKey(restore.accountId, keyEpoch)
      writeRestore(connection, restore)
    })
  }

  /**
   * Inside the transaction that asks for the restore: a rekey that begins a moment later finds it (`beginRekey`).
   *
   * @param {string} accountId
   * @param {number} keyEpoch
   */
  #requireSameKey(accountId, keyEpoch) {
    const isSame = this.connection
      .prepare(
        `SELECT 1 FROM accounts WHERE id = $accountId AND key_epoch = $keyEpoch
           AND NOT EXISTS (SELECT 1 FROM rekeys WHERE account_id = $accountId)`
      )
      .get({ accountId, keyEpoch })
    if (!isSame)
      throw new MailError('RESTORE_REFUSED', {
        detail: 'the account has got another key since; restore it under another name'
      })
  }

  /**
   * @param {string} accountId
   * @param {import('./directory-port.js').RestoreStep} step
   * @returns {Promise<boolean>} false where the restore is in another state, or another one has taken its place
   */
  async advanceRestore(accountId, { from, to, staged }) {
    const { connection } = this
    return await connection.write(() => {
      const where =
        'WHERE account_id = $accountId AND state = $from AND staged = ifnull($staged, staged)'
      const which = { accountId, from, staged: staged ?? null }
      if (to === null) {
        const isBack = connection.prepare(`${BACK_TO_BEFORE} ${where} AND before_state IS NOT NULL`)
        if (isBack.run(which).changes > 0) return true
        return connection.prepare(`DELETE FROM restores ${where}`).run(which).changes > 0
      }
      const { changes } = connection
        .prepare(`UPDATE restores SET state = $to ${where}`)
        .run({ ...which, to })
      if (changes > 0 && to === 'lift') this.#noteSwitched(accountId)
      return changes > 0
    })
  }

  /** @param {string} accountId */
  #noteSwitched(accountId) {
    const { connection } = this
    // The file that stands there now may be of another cipher than the one before.
    connection
      .prepare(
        `UPDATE accounts SET cipher = (SELECT cipher FROM restores WHERE account_id = $id) WHERE id = $id`
      )
      .run({ id: accountId })
    connection.prepare(`UPDATE restores SET ${NOTHING_BEFORE} WHERE account_id = ?`).run(accountId)
    countLifts(connection, accountId, 1)
  }

  /**
   * @param {string} accountId
   * @returns {Promise<number>} 0 where it is not known
   */
  async findLifts(accountId) {
    const row = await this.connection.read(() =>
      this.connection.prepare('SELECT lifts FROM lifts WHERE account_id = ?').get(accountId)
    )
    return row?.lifts ?? 0
  }

  /**
   * The mailbox in place has been lifted, whether or not another is to take its place by now.
   *
   * @param {string} accountId
   * @param {number} lifts - more than were asked for where it had been lifted already
   */
  async noteLifted(accountId, lifts) {
    const { connection } = this
    await connection.write(() => {
      connection
        .prepare(
          `UPDATE restores SET state = iif(state = 'lift', 'check', state),
             before_state = iif(before_state = 'lift', 'check', before_state) WHERE account_id = ?`
        )
        .run(accountId)
      connection
        .prepare('UPDATE lifts SET lifts = max(lifts, $lifts) WHERE account_id = $accountId')
        .run({ accountId, lifts })
    })
  }

  /** @returns {Promise<{ accountId: string, atMs: number }[]>} accounts that were deleted here, and when */
  async listDeletions() {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT account_id, max(at_ms) AS at_ms FROM audit
           WHERE action = 'account-delete' AND account_id IS NOT NULL GROUP BY account_id`
        )
        .all()
    )
    return rows.map((row) => ({ accountId: row.account_id, atMs: row.at_ms }))
  }
}
