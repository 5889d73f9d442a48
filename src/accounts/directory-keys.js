/**
 * Credentials, sealing identities and rekeys: every row that holds a wrapped key.
 */
import { MailError } from '../errors.js'
import {
  credentialFromRow,
  credentialToRow,
  keyRowsFromJson,
  keyRowsToJson,
  sealIdentityFromRow
} from './directory-rows.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./directory-port.js').KeyRows} KeyRows
 * @typedef {import('./directory-port.js').PendingRekey} PendingRekey
 * @typedef {import('./directory-port.js').ProvedCredential} ProvedCredential
 * @typedef {import('./directory-port.js').SealIdentityRow} SealIdentityRow
 * @typedef {import('./directory-port.js').SealKey} SealKey
 */

const INSERT_CREDENTIAL = `INSERT INTO credentials (id, account_id, kind, label, scope, expires_at_ms,
    version, argon2_memory_kib, argon2_passes, argon2_parallelism, pepper_id, key_epoch, lookup, salt,
    commitment, wrapped_key, created_at_ms, changed_at_ms, last_used_at_ms)
  VALUES ($id, $accountId, $kind, $label, $scope, $expiresAtMs, $version, $memoryKiB, $passes,
    $parallelism, $pepperId, $keyEpoch, $lookup, $salt, $commitment, $wrappedKey, $createdAtMs,
    $changedAtMs, $lastUsedAtMs)`

/**
 * Removes every wrapped key of an account; part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {string} accountId
 */
export function deleteKeyRows(connection, accountId) {
  for (const table of ['credentials', 'seal_identities', 'rekeys']) {
    connection.prepare(`DELETE FROM ${table} WHERE account_id = ?`).run(accountId)
  }
}

/**
 * Part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {{ accountId: string, keyEpoch: number }} wanted
 * @throws {MailError} ACCOUNT_NOT_FOUND; BUSY where the account has other keys
 */
export function requireKeyEpoch(connection, { accountId, keyEpoch }) {
  const row = connection.prepare('SELECT key_epoch FROM accounts WHERE id = ?').get(accountId)
  if (!row) throw new MailError('ACCOUNT_NOT_FOUND')
  if (row.key_epoch !== keyEpoch)
    throw new MailError('BUSY', { detail: 'the keys were changed meanwhile' })
}

/**
 * Writes every wrapped key of an account that has none; part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {string} accountId
 * @param {KeyRows} keys
 */
export function writeKeyRows(connection, accountId, keys) {
  const insertCredential = connection.prepare(INSERT_CREDENTIAL)
  for (const credential of keys.credentials) insertCredential.run(credentialToRow(credential))
  const insertIdentity = connection.prepare(
    `INSERT INTO seal_identities (account_id, number, recipient, key_epoch, wrapped_secret, created_at_ms)
     VALUES (?, ?, ?, ?, ?, ?)`
  )
  for (const identity of keys.sealIdentities) {
    insertIdentity.run(
      accountId,
      identity.number,
      identity.recipient,
      identity.keyEpoch,
      identity.wrappedSecret,
      identity.createdAtMs
    )
  }
  connection
    .prepare(
      `INSERT INTO account_seals (account_id, recipient, public_key) VALUES (?, ?, ?)
       ON CONFLICT (account_id) DO UPDATE SET recipient = excluded.recipient, public_key = excluded.public_key`
    )
    .run(accountId, keys.sealRecipient, keys.sealPublicKey)
  connection.prepare('UPDATE accounts SET key_epoch = ? WHERE id = ?').run(keys.keyEpoch, accountId)
}

/** The key part of the directory. */
export class DirectoryKeys {
  /** @param {DirectoryConnection} connection */
  constructor(connection) {
    this.connection = connection
  }

  /**
   * @param {string} where - a condition of this file's own
   * @param {unknown[]} values
   * @returns {Promise<Credential | null>}
   */
  async #find(where, values) {
    const row = await this.connection.read(() =>
      this.connection.prepare(`SELECT * FROM credentials WHERE ${where}`).get(...values)
    )
    return row ? credentialFromRow(row) : null
  }

  /**
   * @param {string} credentialId
   * @returns {Promise<Credential | null>}
   */
  findCredential(credentialId) {
    return this.#find('id = ?', [credentialId])
  }

  /**
   * @param {string} accountId
   * @param {'password' | 'recovery'} kind
   * @returns {Promise<Credential | null>}
   */
  findSingleCredential(accountId, kind) {
    return this.#find('account_id = ? AND kind = ?', [accountId, kind])
  }

  /**
   * @param {string} accountId
   * @param {Buffer} lookup
   * @returns {Promise<Credential | null>}
   */
  findAppPassword(accountId, lookup) {
    return this.#find('account_id = ? AND lookup = ?', [accountId, lookup])
  }

  /**
   * @param {string} accountId
   * @returns {Promise<Credential[]>} oldest first
   */
  async listCredentials(accountId) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare('SELECT * FROM credentials WHERE account_id = ? ORDER BY created_at_ms, id')
        .all(accountId)
    )
    return rows.map(credentialFromRow)
  }

  /** @returns {Promise<string[]>} */
  async listPepperIds() {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare('SELECT DISTINCT pepper_id FROM credentials WHERE pepper_id IS NOT NULL')
        .all()
    )
    return rows.map((row) => row.pepper_id)
  }

  /**
   * @param {Credential} credential
   * @param {ProvedCredential} proved
   * @param {{ atMost?: number }} [limit] - how many credentials of this kind the account may have, with this one
   * @throws {MailError} BUSY where the account has another master key meanwhile, or is getting one, or what was proved is of
   *   the past; LIMIT
   */
  async insertCredential(credential, proved, { atMost = Infinity } = {}) {
    const { accountId, kind } = credential
    await this.connection.write(() => {
      this.#requireEpoch(credential)
      this.#requirePresent(proved)
      const { count } = /** @type {{ count: number }} */ (
        this.connection
          .prepare('SELECT count(*) AS count FROM credentials WHERE account_id = ? AND kind = ?')
          .get(accountId, kind)
      )
      if (count >= atMost)
        throw new MailError('LIMIT', { detail: `an account has at most ${atMost}` })
      this.connection.prepare(INSERT_CREDENTIAL).run(credentialToRow(credential))
    })
  }

  /**
   * Whoever presents a password that has been changed may have asked before the change, and waited for its derivation since.
   *
   * @param {ProvedCredential} proved
   */
  #requirePresent({ id, version }) {
    const row = this.connection.prepare('SELECT version FROM credentials WHERE id = ?').get(id)
    if (row?.version !== version)
      throw new MailError('BUSY', { detail: 'the credential was changed meanwhile' })
  }

  /**
   * A wrap of a former master key must not stand among those of the present one, nor get lost in a rekey.
   *
   * @param {Pick<Credential, 'accountId' | 'keyEpoch'>} credential
   */
  #requireEpoch({ accountId, keyEpoch }) {
    requireKeyEpoch(this.connection, { accountId, keyEpoch })
    if (this.#rekeyRow(accountId))
      throw new MailError('BUSY', { detail: 'the account is being rekeyed' })
  }

  /**
   * @param {Credential[]} credentials
   * @param {{ version: number, proved?: ProvedCredential }} replaced - `version`: that the first row must still have; each other
   *   row must have one less than its new one. `proved`: the credential that was proved, if it is none of the rows
   * @returns {Promise<boolean>} false where a row has another version by now, or is gone
   * @throws {MailError} BUSY where the account has another master key meanwhile, or is getting one, or what was proved is of
   *   the past
   */
  replaceCredentials(credentials, replaced) {
    const { connection } = this
    const remove = connection.prepare('DELETE FROM credentials WHERE id = ?')
    const insert = connection.prepare(INSERT_CREDENTIAL)
    return connection.erase(() => {
      const present = connection.prepare('SELECT version FROM credentials WHERE id = ?')
      const isPresent = credentials.every(({ id, version }, index) => {
        // Two secrets of one version would be taken for the same by whoever remembers the first (RepeatLoginCache).
        return present.get(id)?.version === (index === 0 ? replaced.version : version - 1)
      })
      if (!isPresent) return false
      if (replaced.proved) this.#requirePresent(replaced.proved)
      for (const credential of credentials) {
        this.#requireEpoch(credential)
        remove.run(credential.id)
        insert.run(credentialToRow(credential))
      }
      return true
    })
  }

  /**
   * @param {string} credentialId
   * @returns {Promise<boolean>} false where there was none
   */
  async deleteCredential(credentialId) {
    const { changes } = await this.connection.erase(() =>
      this.connection.prepare('DELETE FROM credentials WHERE id = ?').run(credentialId)
    )
    return changes > 0
  }

  /**
   * @param {string} accountId
   * @returns {Promise<SealIdentityRow[]>} the current one first
   */
  async listSealIdentities(accountId) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare('SELECT * FROM seal_identities WHERE account_id = ? ORDER BY number DESC')
        .all(accountId)
    )
    return rows.map(sealIdentityFromRow)
  }

  /**
   * @param {string} accountId
   * @param {{ found: SealKey, right: SealKey }} change - nothing is changed where `found` is no longer what stands there
   */
  async replaceSealKey(accountId, { found, right }) {
    await this.connection.write(() =>
      this.connection
        .prepare(
          `UPDATE account_seals SET recipient = ?, public_key = ?
           WHERE account_id = ? AND recipient = ? AND public_key = ?`
        )
        .run(right.recipient, right.publicKey, accountId, found.recipient, found.publicKey)
    )
  }

  /**
   * @param {PendingRekey} rekey
   * @throws {MailError} BUSY where a credential or the key was changed since the next rows were made, or is being changed, or
   *   where a mailbox, which is under the present key, is to come back from a backup
   */
  async beginRekey({ accountId, wrappedNextKey, next, startedAtMs }) {
    const { connection } = this
    await connection.write(() => {
      // Another mailbox may have taken the place of the one whose key is to change.
      this.#requireEpoch({ accountId, keyEpoch: next.keyEpoch - 1 })
      const isToBeSwitched = connection
        .prepare(`SELECT 1 FROM restores WHERE account_id = ? AND state IN ('asked', 'switching')`)
        .get(accountId)
      if (isToBeSwitched) throw new MailError('BUSY', { detail: 'a restore is under way' })
      const present = connection.prepare('SELECT version FROM credentials WHERE id = ?')
      for (const { id, version } of next.credentials) {
        const row = present.get(id)
        if (row && row.version !== version - 1) {
          throw new MailError('BUSY', { detail: 'a credential was changed meanwhile' })
        }
      }
      connection
        .prepare(
          `INSERT INTO rekeys (account_id, wrapped_next_key, next_rows, started_at_ms)
           VALUES (?, ?, ?, ?)`
        )
        .run(accountId, wrappedNextKey, keyRowsToJson(next), startedAtMs)
    })
  }

  /**
   * @param {string} accountId
   * @returns {Promise<PendingRekey | null>}
   */
  async findRekey(accountId) {
    const row = await this.connection.read(() => this.#rekeyRow(accountId))
    if (!row) return null
    return {
      accountId: row.account_id,
      wrappedNextKey: row.wrapped_next_key,
      next: keyRowsFromJson(row.next_rows),
      startedAtMs: row.started_at_ms
    }
  }

  /**
   * @param {string} accountId
   * @param {number} nextKeyEpoch - of the rekey to cancel: another may be pending by now, of the account's next mailbox
   */
  async cancelRekey(accountId, nextKeyEpoch) {
    const { connection } = this
    await connection.erase(() => {
      if (this.#pendingRows(accountId, nextKeyEpoch) !== null)
        connection.prepare('DELETE FROM rekeys WHERE account_id = ?').run(accountId)
    })
  }

  /**
   * @param {string} accountId
   * @param {number} nextKeyEpoch - of the rekey to finish
   * @throws {MailError} ACCOUNT_NOT_FOUND where no such rekey has begun
   */
  async finishRekey(accountId, nextKeyEpoch) {
    await this.connection.erase(() => {
      const rows = this.#pendingRows(accountId, nextKeyEpoch)
      if (!rows) throw new MailError('ACCOUNT_NOT_FOUND', { detail: 'no such rekey has begun' })
      deleteKeyRows(this.connection, accountId)
      writeKeyRows(this.connection, accountId, rows)
    })
  }

  /**
   * @param {string} accountId
   * @param {number} nextKeyEpoch
   * @returns {KeyRows | null}
   */
  #pendingRows(accountId, nextKeyEpoch) {
    const row = this.#rekeyRow(accountId)
    const rows = row ? keyRowsFromJson(row.next_rows) : null
    return rows?.keyEpoch === nextKeyEpoch ? rows : null
  }

  /**
   * @param {string} accountId
   * @returns {any}
   */
  #rekeyRow(accountId) {
    return this.connection.prepare('SELECT * FROM rekeys WHERE account_id = ?').get(accountId)
  }
}
