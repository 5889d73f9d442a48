/**
 * Security events, newest first.
 */
import { get } from '../api.js'
import { fill, h } from '../dom.js'
import { time } from '../format.js'
import { table } from '../table.js'

const PAGE_ROWS = 100

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
  /** @type {any[]} */
  const events = []
  const card = h('div.card')
  const more = async () => {
    const before = events.at(-1)?.id
    const { events: older } = await get('/audit', { limit: PAGE_ROWS, before })
    events.push(...older)
    fill(
      card,
      table(columns, events),
      older.length === PAGE_ROWS &&
        h(
          'div.pager',
          {},
          h('button.quiet.small', { type: 'button', click: () => attempt(more) }, 'Older')
        )
    )
  }
  fill(page, h('div.head', {}, h('h1', {}, 'Audit log')), card)
  await more()
}
