/**
 * The page: logs in with a token, and shows the view that the address names. A token of one tenant has no views of the
 * whole host.
 */
import { ApiError, dropToken, get, hasToken, keepToken } from './api.js'
import { byId, fill, h } from './dom.js'
import { showAccounts } from './views/accounts.js'
import { showAudit } from './views/audit.js'
import { showBackups } from './views/backups.js'
import { showMaintenance } from './views/maintenance.js'
import { showOverview } from './views/overview.js'
import { showSessions } from './views/sessions.js'
import { showTenants } from './views/tenants.js'

/**
 * @typedef {object} Token
 * @property {string} label
 * @property {string[]} scopes
 * @property {string | null} tenant
 *
 * @typedef {object} ViewContext
 * @property {Token} token
 * @property {(scope: string) => boolean} may
 * @property {(work: () => Promise<unknown>) => Promise<void>} attempt - shows what fails
 *
 * @typedef {(page: HTMLElement, context: ViewContext) => Promise<(() => void) | void>} View - gives what ends it
 */

/** @type {{ path: string, title: string, show: View, isHostWide?: boolean, scopes: string[] }[]} */
const VIEWS = [
  { path: '', title: 'Overview', show: showOverview, isHostWide: true, scopes: ['read'] },
  { path: 'accounts', title: 'Accounts', show: showAccounts, scopes: ['accounts'] },
  { path: 'tenants', title: 'Tenants', show: showTenants, scopes: ['accounts'] },
  { path: 'sessions', title: 'Sessions', show: showSessions, scopes: ['accounts'] },
  { path: 'backups', title: 'Backups', show: showBackups, scopes: ['backups'] },
  {
    path: 'maintenance',
    title: 'Maintenance',
    show: showMaintenance,
    scopes: ['accounts', 'backups']
  },
  { path: 'audit', title: 'Audit', show: showAudit, scopes: ['read'] }
]

const UNKNOWN = 'That token is not known, or not any more.'
/** Characters that a header can carry; a token has no others. */
const TOKEN_TEXT = /^[\x21-\x7e]+$/

/** @type {(() => void) | void} */
let endView
/** @type {Token | null} */
let token = null
let turn = 0

/** @param {string} [problem] */
function showLogin(problem = '') {
  endView?.()
  endView = undefined
  token = null
  byId('bar').hidden = true
  const field = h('input', {
    type: 'password',
    name: 'token',
    placeholder: 'lltok_…',
    'aria-label': 'Token',
    autocomplete: 'off',
    required: true
  })
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const text = /** @type {HTMLInputElement} */ (field).value.trim()
    if (!TOKEN_TEXT.test(text)) return showLogin(UNKNOWN)
    keepToken(text)
    return start()
  }
  fill(
    byId('page'),
    h(
      'div.card.login',
      {},
      h('img', { src: 'icon.svg', alt: '', width: 52, height: 52 }),
      h('h1', {}, 'Letterlock'),
      h('p.muted', {}, 'Log in with a token: letterlock token create'),
      h(
        'form',
        { submit },
        field,
        h('button.primary', { type: 'submit' }, 'Log in'),
        h('p.error', { role: 'alert' }, problem)
      )
    )
  )
  field.focus()
}

/**
 * @param {unknown} error
 * @returns {string}
 */
function problemText(error) {
  if (error instanceof ApiError && error.status === 401) return UNKNOWN
  return error instanceof Error ? error.message : String(error)
}

/** @param {unknown} error */
function showProblem(error) {
  const text = problemText(error)
  if (text === UNKNOWN) {
    dropToken()
    return showLogin(text)
  }
  fill(byId('page'), h('div.card', {}, h('p.error', { role: 'alert' }, text)))
}

/** @param {Token} of */
const viewsOf = ({ tenant, scopes: own }) =>
  VIEWS.filter(
    ({ isHostWide, scopes }) =>
      ['all', 'read', ...scopes].some((scope) => own.includes(scope)) &&
      !(isHostWide && tenant !== null)
  )

async function showView() {
  if (token === null) return
  const current = token
  const views = viewsOf(current)
  const path = location.hash.replace(/^#\/?/, '')
  const view = views.find((candidate) => candidate.path === path) ?? views[0]
  if (!view) return showLogin('The token opens nothing here.')
  const mine = ++turn
  endView?.()
  endView = undefined
  fill(
    byId('nav'),
    ...views.map((candidate) =>
      h(
        'a',
        { href: `#/${candidate.path}`, 'aria-current': candidate === view ? 'page' : null },
        candidate.title
      )
    )
  )
  document.title = `${view.title} · Letterlock`
  const page = h('div')
  fill(byId('page'), page)
  const context = {
    token: current,
    may: (/** @type {string} */ scope) =>
      current.scopes.includes('all') || current.scopes.includes(scope),
    attempt: async (/** @type {() => Promise<unknown>} */ work) => {
      try {
        await work()
      } catch (error) {
        if (mine === turn) showProblem(error)
      }
    }
  }
  await context.attempt(async () => {
    const end = await view.show(page, context)
    // The person may have gone to another view meanwhile.
    if (mine === turn) endView = end
    else end?.()
  })
}

async function start() {
  if (!hasToken()) return showLogin()
  try {
    token = await get('/token')
  } catch (error) {
    // Where the server fails or does not answer, the token is kept, as it may be good.
    if (error instanceof ApiError && error.status < 500) dropToken()
    return showLogin(problemText(error))
  }
  byId('bar').hidden = false
  const { label, tenant } = /** @type {Token} */ (token)
  fill(byId('who'), [label, tenant].filter(Boolean).join(' · '))
  await showView()
}

byId('leave').addEventListener('click', () => {
  dropToken()
  showLogin()
})
window.addEventListener('hashchange', showView)
// A link to the view that is shown already changes no address, but shows the view anew: for instance after a failure.
document.addEventListener('click', ({ target }) => {
  const link = target instanceof Element ? target.closest('a') : null
  if (link !== null && link.hash !== '' && link.hash === location.hash) return showView()
})
await start()
