/**
 * App passwords: one for each device, revoked one by one.
 */
import {
  createAppPassword,
  listAppPasswords,
  revokeAppPassword
} from '../../accounts/app-passwords.js'
import { dayBeginMs } from '../../support/calendar-day.js'
import { dayOf, timeOf } from '../format.js'
import { html } from '../html.js'
import { ownerFields, passwordField, tokenField } from '../layout.js'
import { addPage } from '../page-route.js'
import { Refusal } from '../problem.js'
import { withPassword } from '../with-password.js'

/** @import { FastifyInstance } from 'fastify' */
/** @import { AppPassword } from '../../accounts/app-passwords.js' */
/** @import { PageLogin } from '../guard.js' */
/** @import { Html } from '../html.js' */
/** @import { PageParts } from '../server.js' */

const DAY_MS = 24 * 60 * 60 * 1000

/** @param {PageLogin} login */
const createForm = (login) => html`
  <form class="card" method="post" action="/app-passwords">
    <h2>A new one</h2>
    <p>
      Give each device and program a password of its own: it is made here, and when a device is
      lost, it is taken back without a change for the others. It opens the mail and nothing of this
      page.
    </p>
    ${ownerFields(login)}
    <label for="label">Name of the device or program</label>
    <input id="label" name="label" required maxlength="100" autocomplete="off" />
    <fieldset>
      <legend>What it may do</legend>
      <label>
        <input type="radio" name="scope" value="read-write" checked /> Read, change and delete mail
      </label>
      <label><input type="radio" name="scope" value="read-only" /> Only read</label>
    </fieldset>
    <label for="expires">Last day</label>
    <p class="hint" id="expires-hint">It ends with this day, UTC. Left empty, it does not end.</p>
    <input id="expires" name="expires" type="date" aria-describedby="expires-hint" />
    ${passwordField({
      name: 'password',
      label: 'Password of the mailbox',
      autocomplete: 'current-password'
    })}
    <button>Make an app password</button>
  </form>
`

/**
 * @param {PageLogin} login
 * @param {AppPassword[]} present
 * @param {number} nowMs
 */
const list = (login, present, nowMs) => html`
  <section class="card">
    <h2>Present ones</h2>
    ${
      present.length === 0
        ? html`<p>There are none.</p>`
        : html`<div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">May</th>
                  <th scope="col">Made</th>
                  <th scope="col">Last used</th>
                  <th scope="col">Ends</th>
                  <th scope="col"><span class="unseen">Revoke</span></th>
                </tr>
              </thead>
              <tbody>
                ${present.map((appPassword) => row(login, appPassword, nowMs))}
              </tbody>
            </table>
          </div>`
    }
  </section>
`

/**
 * @param {number} timeMs
 * @returns {Html} the last day, as the form above asks for it; an end that is no end of a day is shown to the minute
 */
const endOf = (timeMs) =>
  timeMs % DAY_MS === 0 ? html`with ${dayOf(timeMs - DAY_MS)}` : timeOf(timeMs)

/**
 * @param {PageLogin} login
 * @param {AppPassword} appPassword
 * @param {number} nowMs
 */
function row(login, { id, label, scope, createdAtMs, lastUsedAtMs, expiresAtMs }, nowMs) {
  const end = expiresAtMs === null ? 'never' : endOf(expiresAtMs)
  return html`
    <tr>
      <th scope="row">${label}</th>
      <td>${scope === 'read-only' ? 'only read' : 'read and change'}</td>
      <td>${timeOf(createdAtMs)}</td>
      <td>${lastUsedAtMs === null ? 'never' : timeOf(lastUsedAtMs)}</td>
      <td>${expiresAtMs !== null && expiresAtMs <= nowMs ? html`${end}, over` : end}</td>
      <td>
        <form method="post" action="/app-passwords/revoke">
          ${tokenField(login)}
          <input type="hidden" name="id" value="${id}" />
          <button class="quiet" aria-label="Revoke ${label}">Revoke</button>
        </form>
      </td>
    </tr>
  `
}

/**
 * @param {string} label
 * @param {string} text
 */
const shownOnce = (label, text) => html`
  <div class="card">
    <p>
      The app password for <strong>${label}</strong>, to be put in where the program asks for a
      password:
    </p>
    <p class="code"><code>${text}</code></p>
    <p>It is shown this once and kept nowhere. The user name is your mail address, as ever.</p>
    <p><a href="/app-passwords">Back to the app passwords</a></p>
  </div>
`

/**
 * @param {string} text - of the field
 * @param {number} nowMs
 * @returns {number | null} the end of that day; null for none
 * @throws {Refusal} 422
 */
function expiryOf(text, nowMs) {
  if (text === '') return null
  const endMs = dayBeginMs(text) + DAY_MS
  if (endMs > nowMs) return endMs
  throw new Refusal(422, 'The last day must be today or later, written as 2027-01-31.')
}

/**
 * @param {string} text - of the field
 * @returns {import('../../accounts/directory-port.js').Scope}
 * @throws {Refusal} 422
 */
function scopeOf(text) {
  if (text === 'read-write' || text === 'read-only') return text
  throw new Refusal(422, 'Choose what the app password may do.')
}

/**
 * @param {FastifyInstance} app
 * @param {PageParts} parts
 */
export function addAppPasswordRoutes(app, parts) {
  const { services } = parts
  addPage(app, parts, {
    path: '/app-passwords',
    title: 'App passwords',
    view: async (login) => {
      const present = await listAppPasswords({ services, account: login.account })
      return html`${list(login, present, services.clock.nowMs())} ${createForm(login)}`
    },
    notices: {
      revoked: 'It was revoked. Who is logged in with it is sent away within some seconds.'
    },
    actions: {
      '/app-passwords': async (visit) => {
        const { form, login, remoteAddress } = visit
        const { account } = login
        const label = form.text('label')
        if (label === '') throw new Refusal(422, 'The app password needs a name.')
        const scope = scopeOf(form.text('scope'))
        const expiresAtMs = expiryOf(form.text('expires'), services.clock.nowMs())
        const wish = { label, scope, expiresAtMs, remoteAddress }
        const { text } = await withPassword(services, visit, (secret, turn) =>
          createAppPassword({ services, account, secret, ...wish, ...turn })
        )
        return { body: shownOnce(label, text) }
      },
      '/app-passwords/revoke': async ({ form, login, remoteAddress }) => {
        const { account } = login
        const credentialId = form.text('id')
        await revokeAppPassword({ services, account, credentialId, remoteAddress })
        return { done: 'revoked' }
      }
    }
  })
}
