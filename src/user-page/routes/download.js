/**
 * The whole mailbox as one encrypted file.
 */
import { MailError } from '../../errors.js'
import { formatBytes } from '../../support/format.js'
import { html } from '../html.js'
import { passwordField, ownerFields } from '../layout.js'
import { addPage } from '../page-route.js'
import { passwordOf } from '../with-password.js'

/** @import { FastifyInstance, FastifyReply } from 'fastify' */
/** @import { PageLogin } from '../guard.js' */
/** @import { PageParts } from '../server.js' */

/** A download ends where the browser has taken no byte for so long, ms. */
const STALLED_MS = 60_000

/** @param {PageLogin} login */
const downloadForm = (login) => html`
  <form class="card" method="post" action="/download">
    <p>
      Your whole mailbox, ${formatBytes(login.account.usedBytes)} of mail, in one file. It is
      encrypted with the password that you put in here, also after you change that one, and opens on
      any machine:
    </p>
    <p class="code"><code>letterlock open mailbox.letterlock</code></p>
    <p>
      The file is made when you press the button. With much mail it takes a while until the download
      begins: some seconds for each 100 MB.
    </p>
    ${ownerFields(login)}
    ${passwordField({ name: 'password', label: 'Password', autocomplete: 'current-password' })}
    <button>Download</button>
  </form>
`

/**
 * @param {string} address
 * @param {number} nowMs
 * @returns {string} plain ASCII, so that it needs no encoding (RFC 6266)
 */
function fileName(address, nowMs) {
  const who = address.replace(/[^a-z0-9.@+-]/gi, '_')
  return `${who}-${new Date(nowMs).toISOString().slice(0, 10)}.letterlock`
}

/**
 * @param {FastifyInstance} app
 * @param {PageParts} parts
 */
export function addDownloadRoutes(app, parts) {
  const { services, downloads } = parts
  const { directory, unlocker, clock } = services
  addPage(app, parts, {
    path: '/download',
    title: 'Download',
    view: downloadForm,
    actions: {
      '/download': async ({ form, login, reply, remoteAddress }) => {
        const { account, session } = login
        const password = passwordOf(form)
        const { username } = session
        const unlocked = await unlocker.unlock({
          username,
          password,
          remoteAddress,
          service: 'page'
        })
        if (unlocked.account.id !== account.id) {
          // The session's name is an alias, which has moved to another account since the login.
          unlocked.masterKey.dispose()
          throw new MailError('AUTHENTICATION_FAILED')
        }
        const { stream, bytes } = await downloads.make(unlocked, password)
        const detail = { bytes }
        directory.audit({
          action: 'mailbox-download',
          accountId: account.id,
          remoteAddress,
          detail
        })
        return { reply: sendFile(reply, stream, fileName(account.address, clock.nowMs()), bytes) }
      }
    }
  })
}

/**
 * @param {FastifyReply} reply
 * @param {import('node:stream').Readable} stream
 * @param {string} name
 * @param {number} bytes
 * @returns {FastifyReply}
 */
function sendFile(reply, stream, name, bytes) {
  const { socket } = reply.raw
  // Nobody may keep the file on disk by reading nothing of it.
  socket?.setTimeout(STALLED_MS, () => socket.destroy())
  return reply
    .type('application/octet-stream')
    .headers({
      'content-length': bytes,
      'content-disposition': `attachment; filename="${name}"`
    })
    .send(stream)
}
