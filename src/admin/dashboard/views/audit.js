/**
 * Security events, newest first.
 */
import { get } from '../api.js'
import { fill, h } from '../dom.js'
import { time } from '../format.js'
import { growingTable } from '../table.js'

/** @type {import('../app.js').View} */
export async function showAudit(page, { attempt }) {
  const columns = [
    { title: 'When', cell: (/** @type {any} */ row) => time(row.atMs) },
    { title: 'What', cell: (/** @type {any} */ row) => row.action },
    {
      title: 'Account',
      cell: (/** @type {any} */ row) => row.accountId && h('code', {}, row.accountId)
    },
    { title: 'Tenant', cell: (/** @type {any} */ row) => row.tenant },
    { title: 'From', cell: (/** @type {any} */ row) => row.remoteAddress },
    {
      title: 'Detail',
      isText: true,
      cell: (/** @type {any} */ row) =>
        Object.entries(row.detail)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ')
    }
  ]
  const { body, more } = growingTable({
    columns,
    attempt,
    load: async (query) => (await get('/audit', query)).events
  })
  fill(page, h('div.head', {}, h('h1', {}, 'Audit log')), body)
  await more()
}
