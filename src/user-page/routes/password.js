/**
 * A new password, and a new recovery code.
 */
import { changePassword } from '../../accounts/change-password.js'
import { renewRecoveryCode } from '../../accounts/recovery-code.js'
import { setSession } from '../guard.js'
import { html } from '../html.js'
import { passwordField, ownerFields } from '../layout.js'
import { newPasswordFields, newPasswordOf } from '../new-password.js'
import { addPage } from '../page-route.js'
import { withPassword } from '../with-password.js'

/** @import { FastifyInstance } from 'fastify' */
/** @import { PageLogin } from '../guard.js' */
/** @import { PageParts } from '../server.js' */

/** @param {PageLogin} login */
const passwordForm = (login) => html`
  <form class="card" method="post" action="/password">
    <p>
      Mail programs that use the present password have to be told the new one, and are logged out
      within some seconds. App passwords and the recovery code stay as they are.
    </p>
    ${ownerFields(login)}
    ${passwordField({
      name: 'password',
      label: 'Present password',
      autocomplete: 'current-password'
    })}
    ${newPasswordFields}
    <button>Change the password</button>
  </form>
`

/** @param {PageLogin} login */
const recoveryForm = (login) => html`
  <form class="card" method="post" action="/recovery-code">
    <p>
      With the recovery code you can set a new password when the old one is lost. Without either of
      them nobody can open your mail, not even who runs this server. A new code takes the place of
      the old one.
    </p>
    ${ownerFields(login)}
    ${passwordField({ name: 'password', label: 'Password', autocomplete: 'current-password' })}
    <button>Make a new recovery code</button>
  </form>
`

/** @param {string} code */
const recoveryCode = (code) => html`
  <div class="card">
    <p>This is your new recovery code. The old one opens nothing any more.</p>
    <p class="code"><code>${code}</code></p>
    <p>
      Write it down and keep it away from this machine: it is shown this once, and kept nowhere.
    </p>
    <p><a href="/">Back to the overview</a></p>
  </div>
`

/**
 * @param {FastifyInstance} app
 * @param {PageParts} parts
 */
export function addPasswordRoutes(app, parts) {
  const { services, sessions } = parts
  addPage(app, parts, {
    path: '/password',
    title: 'Password',
    view: passwordForm,
    notices: {
      changed:
        'The password was changed. Tell it to your mail programs; other browsers were logged out of this page.'
    },
    actions: {
      '/password': async (visit) => {
        const newPassword = newPasswordOf(visit.form)
        const { login, reply, remoteAddress } = visit
        const { account, session } = login
        await withPassword(services, visit, (oldSecret, turn) =>
          changePassword({ services, account, oldSecret, newPassword, remoteAddress, ...turn })
        )
        // Every session with the old password is over. This one begins anew with the version after it, which is that of the new
        // password, and not with a later version that somebody else may have set since.
        const { id } = sessions.begin({
          accountId: account.id,
          credentialId: session.credentialId,
          credentialVersion: session.credentialVersion + 1,
          username: session.username,
          remoteAddress
        })
        await sessions.end(session.key)
        setSession(reply, id)
        return { done: 'changed' }
      }
    }
  })
  addPage(app, parts, {
    path: '/recovery-code',
    title: 'Recovery code',
    view: recoveryForm,
    actions: {
      '/recovery-code': async (visit) => {
        const { login, remoteAddress } = visit
        const { account } = login
        const code = await withPassword(services, visit, (secret, turn) =>
          renewRecoveryCode({ services, account, secret, remoteAddress, ...turn })
        )
        return { body: recoveryCode(code) }
      }
    }
  })
}
