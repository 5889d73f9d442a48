/**
 * The first page: how full the mailbox is, and what else there is to do.
 */
import { listAppPasswords } from '../../accounts/app-passwords.js'
import { formatBytes } from '../../support/format.js'
import { timeOf } from '../format.js'
import { html } from '../html.js'
import { addPage } from '../page-route.js'

/** @import { FastifyInstance } from 'fastify' */
/** @import { Account } from '../../accounts/directory-port.js' */
/** @import { PageLogin } from '../guard.js' */
/** @import { PageParts } from '../server.js' */

/** @param {Account} account */
const storage = ({ usedBytes, usedMessages, quotaBytes, quotaMessages }) => html`
  <section class="card">
    <h2>Storage</h2>
    ${usage('Mail', usedBytes, quotaBytes, formatBytes)}
    ${usage('Messages', usedMessages, quotaMessages, (count) => count.toLocaleString('en'))}
  </section>
`

/**
 * @param {string} label
 * @param {number} used
 * @param {number} quota - 0: no limit
 * @param {(figure: number) => string} format
 */
function usage(label, used, quota, format) {
  if (quota === 0) return html`<p>${label}: <strong>${format(used)}</strong>, without a limit</p>`
  const text = `${format(used)} of ${format(quota)}`
  return html`
    <p>${label}: <strong>${text}</strong></p>
    <meter
      min="0"
      max="${quota}"
      high="${Math.round(quota * 0.9)}"
      optimum="0"
      value="${Math.min(used, quota)}"
      aria-label="${label}"
    >
      ${text}
    </meter>
  `
}

/**
 * @param {FastifyInstance} app
 * @param {PageParts} parts
 */
export function addOverview(app, parts) {
  const { services, imapSessions } = parts
  const { directory } = services
  addPage(app, parts, {
    path: '/',
    title: 'Your mailbox',
    view: async (/** @type {PageLogin} */ { account }) => {
      const aliases = await directory.listAliases(account.id)
      const appPasswords = await listAppPasswords({ services, account })
      const live = await imapSessions.list(account.id)
      const password = await directory.findSingleCredential(account.id, 'password')
      const recovery = await directory.findSingleCredential(account.id, 'recovery')
      return html`
        ${storage(account)}
        <section class="card">
          <h2>Access</h2>
          <dl>
            <dt>Address</dt>
            <dd>${[account.address, ...aliases].join(', ')}</dd>
            <dt>Password</dt>
            <dd>
              ${password ? html`set ${timeOf(password.changedAtMs)}` : 'none'},
              <a href="/password">change it</a>
            </dd>
            <dt>Recovery code</dt>
            <dd>
              ${recovery ? html`made ${timeOf(recovery.changedAtMs)}` : 'none'},
              <a href="/recovery-code">make a new one</a>
            </dd>
            <dt>App passwords</dt>
            <dd>${appPasswords.length}, <a href="/app-passwords">look at them</a></dd>
            <dt>Mail programs connected</dt>
            <dd>${live.length}, <a href="/sessions">look at them</a></dd>
          </dl>
        </section>
      `
    }
  })
}
