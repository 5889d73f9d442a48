/**
 * Who is connected to the mailbox, and ending that.
 */
import { unmapAddress } from '../../support/loopback.js'
import { timeOf } from '../format.js'
import { html } from '../html.js'
import { tokenField } from '../layout.js'
import { addPage } from '../page-route.js'
import { Refusal } from '../problem.js'

/** @import { FastifyInstance } from 'fastify' */
/** @import { SessionFacts } from '../../imap/session/session-facts.js' */
/** @import { PageLogin } from '../guard.js' */
/** @import { PageSession } from '../page-sessions.js' */
/** @import { PageParts } from '../server.js' */

/**
 * @param {PageLogin} login
 * @param {SessionFacts[]} live
 * @param {Map<string, string>} credentials - what each was logged in with, by id
 */
const programs = (login, live, credentials) => html`
  <section class="card">
    <h2>Mail programs</h2>
    <p>
      To keep one out for good, revoke its app password or change the password: a program that knows
      one connects again.
    </p>
    ${
      live.length === 0
        ? html`<p>None is connected.</p>`
        : html`<div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">Program</th>
                  <th scope="col">From</th>
                  <th scope="col">Since</th>
                  <th scope="col">Logged in with</th>
                  <th scope="col"><span class="unseen">Disconnect</span></th>
                </tr>
              </thead>
              <tbody>
                ${live.map((session) => row(login, session, credentials))}
              </tbody>
            </table>
          </div>`
    }
  </section>
`

/**
 * @param {PageLogin} login
 * @param {SessionFacts} session
 * @param {Map<string, string>} credentials
 */
function row(
  login,
  { id, clientName, remoteAddress, startedAtMs, credentialId, scope },
  credentials
) {
  const from = unmapAddress(remoteAddress)
  const name = clientName ?? 'does not say'
  return html`
    <tr>
      <th scope="row">${name}</th>
      <td>${from}</td>
      <td>${timeOf(startedAtMs)}</td>
      <td>
        ${credentials.get(credentialId ?? '') ?? 'a credential that is gone'}${
          scope === 'read-only' && ', only to read'
        }
      </td>
      <td>
        <form method="post" action="/sessions/end">
          ${tokenField(login)}
          <input type="hidden" name="id" value="${id}" />
          <button class="quiet" aria-label="Disconnect ${name} from ${from}">Disconnect</button>
        </form>
      </td>
    </tr>
  `
}

/**
 * @param {PageLogin} login
 * @param {PageSession[]} browsers
 */
const pages = (login, browsers) => html`
  <section class="card">
    <h2>This page</h2>
    <ul>
      ${browsers.map(
        ({ key, remoteAddress, startedAtMs }) => html`
          <li>
            ${unmapAddress(remoteAddress)}, since
            ${timeOf(startedAtMs)}${key === login.session.key && ' (this browser)'}
          </li>
        `
      )}
    </ul>
    ${
      browsers.length > 1 &&
      html`<form method="post" action="/sessions/end-others">
        ${tokenField(login)}
        <button class="quiet">Log the other browsers out</button>
      </form>`
    }
  </section>
`

/**
 * @param {FastifyInstance} app
 * @param {PageParts} parts
 */
export function addSessionRoutes(app, parts) {
  const { services, sessions, imapSessions } = parts
  const { directory } = services
  addPage(app, parts, {
    path: '/sessions',
    title: 'Sessions',
    view: async (login) => {
      const { id } = login.account
      const present = await directory.listCredentials(id)
      const credentials = new Map(
        present.map((credential) => [
          credential.id,
          credential.kind === 'app-password' ? credential.label : 'the password'
        ])
      )
      const live = await imapSessions.list(id)
      // A session of an earlier password is over: it is left out here, and ended at its browser's next request (guard.js).
      const browsers = (await sessions.list(id)).filter((session) =>
        present.some(
          (credential) =>
            credential.id === session.credentialId &&
            credential.version === session.credentialVersion
        )
      )
      return html`${programs(login, live, credentials)} ${pages(login, browsers)}`
    },
    notices: {
      ended: 'It is disconnected as soon as its running command is over.',
      others: 'The other browsers were logged out.'
    },
    actions: {
      '/sessions/end': async ({ form, login, remoteAddress }) => {
        const { id: accountId } = login.account
        const sessionId = form.text('id')
        if (!(await imapSessions.end({ accountId, sessionId }))) {
          throw new Refusal(404, 'That one has gone already.')
        }
        const detail = { session: sessionId }
        directory.audit({ action: 'session-end', accountId, remoteAddress, detail })
        return { done: 'ended' }
      },
      '/sessions/end-others': async ({ login, remoteAddress }) => {
        const hasEnded = await sessions.endOthers(login.session)
        const accountId = login.account.id
        const detail = { browsers: 'others' }
        // Recorded only where there were others: else anybody could fill the audit log by asking again and again.
        if (hasEnded) directory.audit({ action: 'session-end', accountId, remoteAddress, detail })
        return { done: 'others' }
      }
    }
  })
}
