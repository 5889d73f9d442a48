/**
 * Tokens of the admin interface, as rows. A row has the hash of its token alone, so that a copy of the directory opens nothing.
 */

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').ApiToken} ApiToken
 */

/**
 * @param {any} row
 * @returns {ApiToken}
 */
const tokenFromRow = (row) => ({
  id: row.id,
  label: row.label,
  scopes: row.scopes.split(' '),
  tenant: row.tenant_id,
  createdAtMs: row.created_at_ms,
  expiresAtMs: row.expires_at_ms,
  lastUsedAtMs: row.last_used_at_ms
})

/** The token part of the directory. */
export class DirectoryTokens {
  /** @param {DirectoryConnection} connection */
  constructor(connection) {
    this.connection = connection
  }

  /** @param {Omit<ApiToken, 'lastUsedAtMs'> & { hash: Buffer }} token - its tenant exists */
  async insertApiToken({ id, hash, label, scopes, tenant, createdAtMs, expiresAtMs }) {
    await this.connection.write(() =>
      this.connection
        .prepare(
          `INSERT INTO api_tokens (id, hash, label, scopes, tenant_id, created_at_ms, expires_at_ms)
           VALUES (?, ?, ?, ?, ?, ?, ?)`
        )
        .run(id, hash, label, scopes.join(' '), tenant, createdAtMs, expiresAtMs)
    )
  }

  /**
   * @param {Buffer} hash
   * @returns {Promise<ApiToken | null>} also one that has expired
   */
  async findApiToken(hash) {
    const row = await this.connection.read(() =>
      this.connection.prepare('SELECT * FROM api_tokens WHERE hash = ?').get(hash)
    )
    return row ? tokenFromRow(row) : null
  }

  /** @returns {Promise<ApiToken[]>} oldest first */
  async listApiTokens() {
    const rows = await this.connection.read(() =>
      this.connection.prepare('SELECT * FROM api_tokens ORDER BY created_at_ms, id').all()
    )
    return rows.map(tokenFromRow)
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>} false where there was none
   */
  async deleteApiToken(id) {
    const { changes } = await this.connection.write(() =>
      this.connection.prepare('DELETE FROM api_tokens WHERE id = ?').run(id)
    )
    return changes > 0
  }
}
