/**
 * What all pages have in common.
 */
import { TOKEN_FIELD } from './guard.js'
import { html } from './html.js'

/** @import { PageLogin } from './guard.js' */
/** @import { Html } from './html.js' */
/** @import { Problem } from './problem.js' */

/**
 * @typedef {object} Page
 * @property {string} title
 * @property {Html} body
 * @property {PageLogin | null} [login] - whose page it is; with it there is a menu
 * @property {string} [path] - of the page, to be marked in the menu
 * @property {Problem | null} [problem] - said above all else
 * @property {string | null} [notice] - what has been done
 */

const MENU = [
  ['/', 'Overview'],
  ['/password', 'Password'],
  ['/recovery-code', 'Recovery code'],
  ['/app-passwords', 'App passwords'],
  ['/sessions', 'Sessions'],
  ['/download', 'Download']
]

/**
 * @param {PageLogin} login
 * @returns {Html} what every form of a session carries
 */
export const tokenField = ({ session }) =>
  html`<input type="hidden" name="${TOKEN_FIELD}" value="${session.token}" />`

/**
 * @param {PageLogin} login
 * @returns {Html} the same for a form that asks for a password, with the name by which a password manager finds it
 */
export const ownerFields = (login) => html`
  ${tokenField(login)}
  <input
    name="username"
    value="${login.session.username}"
    autocomplete="username"
    readonly
    hidden
  />
`

/**
 * @param {object} field
 * @param {string} field.name
 * @param {string} field.label
 * @param {'current-password' | 'new-password'} field.autocomplete
 * @param {string} [field.hint]
 * @param {number} [field.minLength] - characters
 * @returns {Html}
 */
export const passwordField = ({ name, label, autocomplete, hint, minLength }) => html`
  <label for="${name}">${label}</label>
  ${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
  <input
    id="${name}"
    name="${name}"
    type="password"
    autocomplete="${autocomplete}"
    required
    maxlength="1000"
    ${minLength && html`minlength="${minLength}"`}
    ${hint && html`aria-describedby="${name}-hint"`}
  />
`

/**
 * @param {Page} page
 * @returns {string}
 */
export function renderPage({ title, body, login = null, path, problem = null, notice = null }) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} – Letterlock</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <a class="brand" href="/"
            ><img src="/icon.svg" alt="" width="28" height="28" />Letterlock</a
          >
          ${login && accountBar(login)}
        </header>
        ${login && menu(path)}
        <main id="content">
          <h1>${title}</h1>
          ${problem && html`<p class="message problem" role="alert">${problem.text}</p>`}
          ${notice && html`<p class="message notice" role="status">${notice}</p>`} ${body}
        </main>
      </body>
    </html> `.toString()
}

/** @param {PageLogin} login */
const accountBar = (login) => html`
  <form class="account" method="post" action="/logout">
    <span>${login.account.address}</span>
    ${tokenField(login)}
    <button class="quiet">Log out</button>
  </form>
`

/** @param {string | undefined} path */
const menu = (path) => html`
  <nav aria-label="Pages">
    <ul>
      ${MENU.map(
        ([href, label]) =>
          html`<li>
            <a href="${href}" ${href === path && html`aria-current="page"`}>${label}</a>
          </li>`
      )}
    </ul>
  </nav>
`
