/**
 * The backups that are kept, and how their runs went.
 */
import { get } from '../api.js'
import { fill, h } from '../dom.js'
import { age, bytes, count, duration, time } from '../format.js'
import { table } from '../table.js'

/** @type {import('../app.js').View} */
export async function showBackups(page) {
  const { isSetUp, backups } = await get('/backups')
  const columns = [
    { title: 'Begun', cell: (/** @type {any} */ row) => time(row.startedAtMs) },
    { title: 'Age', isNumber: true, cell: (/** @type {any} */ row) => age(row.startedAtMs) },
    { title: 'Accounts', isNumber: true, cell: (/** @type {any} */ row) => count(row.accounts) },
    {
      title: 'Failed',
      isNumber: true,
      cell: (/** @type {any} */ row) =>
        row.failed > 0 ? h('span.badge.fail', {}, count(row.failed)) : count(row.failed)
    },
    { title: 'New', isNumber: true, cell: (/** @type {any} */ row) => bytes(row.newBytes) },
    {
      title: 'Shared with earlier ones',
      isNumber: true,
      cell: (/** @type {any} */ row) => bytes(row.sharedBytes)
    },
    { title: 'Written', isNumber: true, cell: (/** @type {any} */ row) => bytes(row.storedBytes) },
    { title: 'Took', isNumber: true, cell: (/** @type {any} */ row) => duration(row.durationMs) }
  ]
  fill(
    page,
    h('div.head', {}, h('h1', {}, 'Backups')),
    h(
      'div.card',
      {},
      isSetUp
        ? table(columns, backups)
        : h('p.nothing', {}, 'No backups are set up here: letterlock backup init')
    )
  )
}
