/**
 * What the accounts hold together, by tenant, for lists and figures of the whole host.
 */
import { setImmediate } from 'node:timers/promises'
import { LISTED } from './directory-lists.js'

/** @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection */

/** At most so many accounts are summed up by tenant in one turn, some 5 ms. */
const LISTED_SLICE = 5000

/** The last address of a slice; no row where fewer accounts than a slice are left. */
const SLICE_END = `SELECT address FROM accounts INDEXED BY accounts_listed WHERE address > ?
  ORDER BY address LIMIT 1 OFFSET ${LISTED_SLICE - 1}`

/** Without a last address, the slice has all accounts that are left: any blob comes after all text. */
const SLICE_SUMS = `SELECT coalesce(a.tenant_id, d.tenant_id) AS tenant, count(*) AS accounts,
    sum(a.used_bytes) AS used_bytes, sum(a.used_messages) AS used_messages,
    coalesce(sum(m.file_bytes), 0) AS file_bytes, coalesce(sum(m.free_bytes), 0) AS free_bytes
  ${LISTED} LEFT JOIN maintenance_accounts m ON m.account_id = a.id
  WHERE a.address > $after AND a.address <= coalesce($last, x'') GROUP BY tenant`

/**
 * What the accounts of a tenant hold together, as a row.
 *
 * @typedef {Record<'accounts' | 'used_bytes' | 'used_messages' | 'file_bytes' | 'free_bytes', number>} Sums
 */

/** @type {Readonly<Sums>} */
export const NO_SUMS = Object.freeze({
  accounts: 0,
  used_bytes: 0,
  used_messages: 0,
  file_bytes: 0,
  free_bytes: 0
})

/**
 * @param {Sums} left
 * @param {Sums} right
 * @returns {Sums}
 */
export const added = (left, right) => ({
  accounts: left.accounts + right.accounts,
  used_bytes: left.used_bytes + right.used_bytes,
  used_messages: left.used_messages + right.used_messages,
  file_bytes: left.file_bytes + right.file_bytes,
  free_bytes: left.free_bytes + right.free_bytes
})

/**
 * Sums up a slice of the accounts in each turn: a hundred thousand at once hold up the event loop for a tenth of a second.
 *
 * @param {DirectoryConnection} connection
 * @returns {Promise<Map<string, Sums>>} by tenant; accounts may change while they are summed up
 */
export async function sumsByTenant(connection) {
  /** @type {Map<string, Sums>} */
  const sums = new Map()
  for (let after = ''; ;) {
    const { last, rows } = await sumsOfSlice(connection, after)
    for (const { tenant, ...found } of rows)
      sums.set(tenant, added(sums.get(tenant) ?? NO_SUMS, found))
    if (last === null) break
    after = last
    await setImmediate()
  }
  return sums
}

/**
 * @param {DirectoryConnection} connection
 * @param {string} after - an address
 * @returns {Promise<{ last: string | null, rows: (Sums & { tenant: string })[] }>} `last`: where the next slice begins
 */
async function sumsOfSlice(connection, after) {
  return await connection.read(() => {
    const last = connection.prepare(SLICE_END).get(after)?.address ?? null
    return { last, rows: connection.prepare(SLICE_SUMS).all({ after, last }) }
  })
}
