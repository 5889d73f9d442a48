/**
 * What maintenance has done, newest first.
 */
import { call, get } from '../api.js'
import { fill, h } from '../dom.js'
import { bytes, count, counted, duration, time } from '../format.js'
import { growingTable } from '../table.js'

/**
 * @param {Record<string, number>} before
 * @param {Record<string, number>} after
 * @returns {string} what changed
 */
function changes(before, after) {
  const show = (/** @type {string} */ name, /** @type {number} */ value) =>
    name.endsWith('Bytes') ? bytes(value) : count(value)
  return Object.entries(after)
    .filter(([name, value]) => before[name] !== undefined && before[name] !== value)
    .map(([name, value]) => `${name} ${show(name, before[name] ?? 0)} → ${show(name, value)}`)
    .join(', ')
}

/** @type {import('../app.js').View} */
export async function showMaintenance(page, { may, attempt }) {
  const columns = [
    { title: 'Begun', cell: (/** @type {any} */ row) => time(row.atMs) },
    { title: 'Account', cell: (/** @type {any} */ row) => row.address },
    { title: 'Job', cell: (/** @type {any} */ row) => row.job },
    { title: 'Why', cell: (/** @type {any} */ row) => row.why },
    {
      title: 'Result',
      cell: (/** @type {any} */ row) => h(`span.badge.${row.result}`, {}, row.result)
    },
    {
      title: 'What changed',
      isText: true,
      cell: (/** @type {any} */ row) => row.note ?? changes(row.before, row.after)
    },
    { title: 'Took', isNumber: true, cell: (/** @type {any} */ row) => duration(row.tookMs) }
  ]
  const { body, more } = growingTable({
    columns,
    attempt,
    load: async (query) => (await get('/maintenance', query)).runs
  })
  const note = h('span.muted')
  const ask = () =>
    attempt(async () => {
      const { accounts } = await call('POST', '/maintenance', {})
      fill(
        note,
        `Asked for ${counted(accounts, 'account')}; locked ones follow when their owners log in`
      )
    })
  fill(
    page,
    h(
      'div.head',
      {},
      h('h1', {}, 'Maintenance'),
      h('span.space'),
      note,
      may('accounts') && h('button.quiet', { type: 'button', click: ask }, 'Ask for all')
    ),
    body
  )
  await more()
}
