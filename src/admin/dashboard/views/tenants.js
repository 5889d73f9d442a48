/**
 * Tenants with the sums over their accounts.
 */
import { get } from '../api.js'
import { fill, h } from '../dom.js'
import { bytes, count } from '../format.js'
import { table } from '../table.js'
import { fragmentation } from './accounts.js'

/** @type {import('../app.js').View} */
export async function showTenants(page) {
  const { tenants } = await get('/tenants')
  const columns = [
    {
      title: 'Tenant',
      cell: (/** @type {any} */ row) => (row.label ? `${row.label} (${row.id})` : row.id)
    },
    {
      title: 'Domains',
      isText: true,
      cell: (/** @type {any} */ row) => row.domains.join(', ') || '–'
    },
    {
      title: 'Accounts',
      isNumber: true,
      cell: (/** @type {any} */ row) =>
        row.maxAccounts > 0
          ? `${count(row.accounts)} of ${count(row.maxAccounts)}`
          : count(row.accounts)
    },
    {
      title: 'Messages',
      isNumber: true,
      cell: (/** @type {any} */ row) => count(row.usedMessages)
    },
    {
      title: 'Mail',
      isNumber: true,
      cell: (/** @type {any} */ row) =>
        row.quotaBytes > 0
          ? `${bytes(row.usedBytes)} of ${bytes(row.quotaBytes)}`
          : bytes(row.usedBytes)
    },
    { title: 'Files', isNumber: true, cell: (/** @type {any} */ row) => bytes(row.fileBytes) },
    { title: 'Free in them', isNumber: true, cell: fragmentation }
  ]
  fill(page, h('div.head', {}, h('h1', {}, 'Tenants')), h('div.card', {}, table(columns, tenants)))
}
