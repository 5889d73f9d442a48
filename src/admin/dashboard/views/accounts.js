/**
 * Accounts with what they hold and how their files are: searched and sorted by the server, a page at a time.
 */
import { call, get } from '../api.js'
import { fill, h, shareBar } from '../dom.js'
import { bytes, count, counted, percent, time } from '../format.js'
import { pagedTable, table } from '../table.js'

/** From this free part on, a file is worth compacting: see docs/operations.md. */
const MUCH_FREE = 0.25

/**
 * @param {any} row - an account or a tenant
 * @returns {import('../dom.js').Child[]}
 */
export function fragmentation({ fileBytes, freeBytes }) {
  if (!fileBytes || freeBytes === null) return ['–']
  const part = freeBytes / fileBytes
  return [shareBar(part, MUCH_FREE), percent(part)]
}

/**
 * @param {any} account
 * @returns {string}
 */
const usage = ({ usedBytes, quotaBytes }) =>
  quotaBytes > 0 ? `${bytes(usedBytes)} of ${bytes(quotaBytes)}` : bytes(usedBytes)

/** @type {import('../app.js').View} */
export async function showAccounts(page, { token, may, attempt }) {
  let isOpening = false
  const open = async (/** @type {any} */ row) => {
    // A double click opens the account once.
    if (isOpening) return
    isOpening = true
    await attempt(() => showAccount(page, row, { may, attempt }))
    isOpening = false
  }
  const accounts = pagedTable({
    placeholder: 'Search addresses',
    attempt,
    sort: 'address',
    columns: [
      {
        title: 'Address',
        sort: 'address',
        cell: (/** @type {any} */ row) => [row.address, ' ', badgeOf(row)]
      },
      ...(token.tenant === null
        ? [{ title: 'Tenant', sort: 'tenant', cell: (/** @type {any} */ row) => row.tenant }]
        : []),
      {
        title: 'Messages',
        sort: 'usedMessages',
        isNumber: true,
        cell: (row) => count(row.usedMessages)
      },
      { title: 'Mail', sort: 'usedBytes', isNumber: true, cell: usage },
      { title: 'File', sort: 'fileBytes', isNumber: true, cell: (row) => bytes(row.fileBytes) },
      { title: 'Free in it', sort: 'fragmentation', isNumber: true, cell: fragmentation },
      { title: 'Made', sort: 'createdAtMs', cell: (row) => time(row.createdAtMs).slice(0, 10) }
    ],
    load: async (query) => {
      const { total, accounts: rows } = await get('/accounts', query)
      return { total, rows }
    },
    onOpen: open
  })
  fill(
    page,
    h('div.head', {}, h('h1', {}, 'Accounts'), h('span.space'), accounts.search),
    accounts.body
  )
  await accounts.reload()
}

/** @param {any} account */
function badgeOf({ isEnabled, failingJobs }) {
  if (!isEnabled) return h('span.badge.warn', {}, 'disabled')
  return failingJobs > 0 && h('span.badge.fail', {}, 'maintenance fails')
}

/**
 * @param {HTMLElement} page
 * @param {any} row
 * @param {Pick<import('../app.js').ViewContext, 'may' | 'attempt'>} context
 */
async function showAccount(page, row, { may, attempt }) {
  const base = `/accounts/${row.id}`
  const [account, { aliases }, { credentials }] = await Promise.all([
    get(base),
    get(`${base}/aliases`),
    get(`${base}/credentials`)
  ])
  const dialog = /** @type {HTMLDialogElement} */ (
    h('dialog', { 'aria-labelledby': 'account-title', close: () => dialog.remove() })
  )
  const lines = [
    ['Account', account.id],
    ['Tenant', account.tenant],
    ['State', account.isEnabled ? 'enabled' : 'disabled'],
    ['Mail', `${counted(account.usedMessages, 'message')}, ${usage(account)}`],
    ['File', `${bytes(account.fileBytes)}, ${bytes(account.freeBytes)} free in it`],
    ['Aliases', aliases.join(', ') || 'none']
  ]
  fill(
    dialog,
    h(
      'div.head',
      {},
      h('h1', { id: 'account-title' }, account.address),
      h('span.space'),
      may('accounts') &&
        h(
          'button.quiet',
          {
            type: 'button',
            click: () =>
              attempt(async () => {
                await call('POST', '/maintenance', { accountId: account.id })
                dialog.close()
              })
          },
          'Ask for maintenance'
        ),
      h('button.quiet', { type: 'button', click: () => dialog.close() }, 'Close')
    ),
    h('dl', {}, ...lines.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h('h2', {}, 'Credentials'),
    table(
      [
        { title: 'Kind', cell: (/** @type {any} */ credential) => credential.kind },
        { title: 'Label', cell: (credential) => credential.label || '–' },
        { title: 'Scope', cell: (credential) => credential.scope },
        { title: 'Last use', cell: (credential) => time(credential.lastUsedAtMs) }
      ],
      credentials
    )
  )
  page.append(dialog)
  dialog.showModal()
}
