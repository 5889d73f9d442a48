/**
 * Logging in and out, and the way back for those who have forgotten the password.
 */
import { changePassword } from '../../accounts/change-password.js'
import { requireOwner } from '../../accounts/check-credential.js'
import { MailError, isMailError } from '../../errors.js'
import { recognizeCode } from '../../crypto/generated-code.js'
import { findLogin, sessionKeyOf, setSession } from '../guard.js'
import { html } from '../html.js'
import { passwordField, renderPage } from '../layout.js'
import { newPasswordFields, newPasswordOf } from '../new-password.js'
import { formOf, sendPage } from '../page-route.js'
import { Refusal, problemOf } from '../problem.js'

/** @import { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify' */
/** @import { Html } from '../html.js' */
/** @import { Problem } from '../problem.js' */
/** @import { PageParts } from '../server.js' */

const LOGIN = 'Log in'
const FORGOTTEN = 'A new password with the recovery code'

/** At most so many characters of a name are read, RFC 5321 §4.5.3.1. */
const MAX_NAME_CHARACTERS = 320

const WRONG_LOGIN = { status: 403, text: 'The address or the password is not right.' }
/** Where a form was sent twice, the browser shows the second answer: the new code was in the first, which nobody saw. */
const WRONG_CODE = {
  status: 403,
  text: 'The address or the recovery code is not right. A code can be used once: if you have set a new password with it already, log in with that password and make a new code.'
}

/** @param {string} address - as typed before */
const addressField = (address) => html`
  <label for="address">Mail address</label>
  <input
    id="address"
    name="address"
    value="${address}"
    autocomplete="username"
    autocapitalize="none"
    spellcheck="false"
    required
    maxlength="${MAX_NAME_CHARACTERS}"
  />
`

/** @param {string} [address] */
const loginForm = (address = '') => html`
  <form class="card narrow" method="post" action="/login">
    ${addressField(address)}
    ${passwordField({
      name: 'password',
      label: 'Password of the mailbox',
      autocomplete: 'current-password'
    })}
    <button>Log in</button>
    <p><a href="/forgotten">I have forgotten the password</a></p>
  </form>
`

/** @param {string} [address] */
const forgottenForm = (address = '') => html`
  <form class="card narrow" method="post" action="/forgotten">
    <p>
      The recovery code was shown when the mailbox was made, or when somebody asked for a new one.
      It begins with <code>llrec-</code>. Without the password and without the code nobody can open
      the mail, not even who runs this server.
    </p>
    ${addressField(address)}
    <label for="code">Recovery code</label>
    <input id="code" name="code" autocomplete="off" spellcheck="false" required maxlength="100" />
    ${newPasswordFields}
    <button>Set the new password</button>
    <p><a href="/login">Back to the login</a></p>
  </form>
`

/** @param {string} code */
const recovered = (code) => html`
  <div class="card narrow">
    <p>The new password holds from now on. Your mail programs need it as well.</p>
    <p>The old recovery code is used up. This is the new one:</p>
    <p class="code"><code>${code}</code></p>
    <p>Write it down and keep it away from this machine: it is shown this once.</p>
    <p><a href="/login">Log in</a></p>
  </div>
`

/**
 * @param {FastifyInstance} app
 * @param {PageParts} parts
 */
export function addLoginRoutes(app, parts) {
  const { services, sessions, addressOf } = parts
  const { directory, unlocker } = services
  const show = (
    /** @type {FastifyReply} */ reply,
    /** @type {string} */ title,
    /** @type {Html} */ body,
    /** @type {Problem | null} */ problem = null
  ) => sendPage(reply, problem?.status ?? 200, renderPage({ title, body, problem }))

  app.get('/login', async (request, reply) => {
    if (await findLogin({ request, sessions, directory })) return reply.redirect('/', 303)
    return show(reply, LOGIN, loginForm())
  })

  app.post('/login', async (request, reply) => {
    const form = formOf(request)
    const username = form.text('address').slice(0, MAX_NAME_CHARACTERS)
    try {
      const remoteAddress = addressOf(request.raw)
      const password = form.secret('password')
      refuseCodes(password)
      const unlocked = await unlocker.unlock({ username, password, remoteAddress, service: 'page' })
      // The session needs no key: whatever needs one asks for the password again.
      unlocked.masterKey.dispose()
      const { account, credentialId, credentialVersion } = unlocked
      const credential = await directory.findCredential(credentialId)
      if (credential?.kind !== 'password') throw new MailError('AUTHENTICATION_FAILED')
      await endSession(request)
      const facts = { accountId: account.id, credentialId, credentialVersion }
      const { id } = sessions.begin({ ...facts, username, remoteAddress })
      directory.audit({ action: 'page-login', accountId: account.id, remoteAddress })
      return setSession(reply, id).redirect('/', 303)
    } catch (error) {
      const problem = isMailError(error, 'AUTHENTICATION_FAILED') ? WRONG_LOGIN : problemOf(error)
      if (problem === null) throw error
      return show(reply, LOGIN, loginForm(username), problem)
    }
  })

  app.post('/logout', async (request, reply) => {
    await endSession(request)
    return setSession(reply, null).redirect('/login', 303)
  })

  app.get('/forgotten', async (_request, reply) => show(reply, FORGOTTEN, forgottenForm()))

  app.post('/forgotten', async (request, reply) => {
    const form = formOf(request)
    const username = form.text('address').slice(0, MAX_NAME_CHARACTERS)
    try {
      const newPassword = newPasswordOf(form)
      const code = form.secret('code')
      const remoteAddress = addressOf(request.raw)
      requireRecoveryCode(code)
      const account = await directory.findByAddress(username)
      const attempt = { username, password: code, remoteAddress }
      const { recoveryCode } = await unlocker.throttled(attempt, account, async (turn) => {
        const checked = await requireOwner({ services, account, secret: code })
        checked.masterKey.dispose()
        if (!account) throw new MailError('AUTHENTICATION_FAILED')
        if (!account.isEnabled) throw new MailError('ACCOUNT_DISABLED')
        const change = { oldSecret: code, newPassword, remoteAddress, ...turn }
        return await changePassword({ services, account, ...change })
      })
      return show(reply, 'The password was changed', recovered(recoveryCode ?? ''))
    } catch (error) {
      const problem = isMailError(error, 'AUTHENTICATION_FAILED') ? WRONG_CODE : problemOf(error)
      if (problem === null) throw error
      return show(reply, FORGOTTEN, forgottenForm(username), problem)
    }
  })

  const endSession = async (/** @type {FastifyRequest} */ request) => {
    const key = sessionKeyOf(request)
    if (key !== null) await sessions.end(key)
  }
}

/**
 * Refuses codes by their shape alone, right or wrong, so that nobody learns anything about a code here.
 *
 * @param {Uint8Array} password
 * @throws {Refusal} 403
 */
function refuseCodes(password) {
  const typed = recognizeCode(password)
  if (!typed) return
  typed.code.dispose()
  throw new Refusal(
    403,
    typed.kind === 'app-password'
      ? 'That is an app password. It is for mail programs alone: log in here with the password of the mailbox itself.'
      : 'That is a recovery code. It logs nobody in, but with it you can set a new password: use “I have forgotten the password”.'
  )
}

/**
 * @param {Uint8Array} code
 * @throws {Refusal} 422
 */
function requireRecoveryCode(code) {
  const typed = recognizeCode(code)
  typed?.code.dispose()
  if (typed?.kind === 'recovery') return
  throw new Refusal(
    422,
    'That is no recovery code: it begins with llrec- and has four groups of seven signs.'
  )
}
