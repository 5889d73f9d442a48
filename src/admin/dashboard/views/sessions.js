/**
 * Who is logged in now.
 */
import { ApiError, call, get } from '../api.js'
import { fill, h } from '../dom.js'
import { age } from '../format.js'
import { pagedTable } from '../table.js'

/**
 * @param {unknown} error - of ending a session, which may have ended by itself since it was shown
 */
function unlessGone(error) {
  if (!(error instanceof ApiError) || error.status !== 404) throw error
}

/** @type {import('../app.js').View} */
export async function showSessions(page, { may, attempt }) {
  const sessions = pagedTable({
    placeholder: 'Search accounts or client addresses',
    attempt,
    columns: [
      { title: 'Account', cell: (/** @type {any} */ row) => row.address },
      { title: 'From', cell: (row) => row.remoteAddress },
      { title: 'For', isNumber: true, cell: (row) => age(row.startedAtMs) },
      {
        title: 'Connection',
        cell: (row) => [row.isTls ? 'TLS' : 'plain', row.isCompressed ? ', compressed' : '']
      },
      { title: 'Scope', cell: (row) => row.scope },
      { title: 'State', cell: (row) => h('span.badge', {}, row.isIdling ? 'idle' : 'active') },
      ...(may('accounts') ? [{ title: '', isNumber: true, cell: buttonOf }] : [])
    ],
    load: async ({ search, limit, offset }) => {
      const { total, sessions: rows } = await get('/sessions', { search, limit, offset })
      return { total, rows }
    }
  })
  /** @param {any} row */
  function buttonOf({ id }) {
    const click = () =>
      attempt(async () => {
        await call('DELETE', `/sessions/${encodeURIComponent(id)}`).catch(unlessGone)
        await sessions.reload()
      })
    return h('button.quiet.small', { type: 'button', click }, 'Disconnect')
  }
  fill(
    page,
    h('div.head', {}, h('h1', {}, 'Sessions'), h('span.space'), sessions.search),
    sessions.body
  )
  await sessions.reload()
}
