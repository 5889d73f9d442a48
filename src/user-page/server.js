/**
 * The page for users: whoever knows the password of a mailbox looks after its credentials, sees who is connected, and downloads
 * the mail as one encrypted file. No mail and no name of a folder is ever shown here.
 *
 * It works without any script, and tells the browser to run none.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fastify } from 'fastify'
import { errorCodeOf } from '../database/sqlite-error.js'
import { FormBody } from './form-body.js'
import { findLogin, requireSameOrigin, requireToken } from './guard.js'
import { html } from './html.js'
import { renderPage } from './layout.js'
import { formOf, sendPage } from './page-route.js'
import { Refusal, problemOf } from './problem.js'
import { addAppPasswordRoutes } from './routes/app-passwords.js'
import { addDownloadRoutes } from './routes/download.js'
import { addLoginRoutes } from './routes/login.js'
import { addOverview } from './routes/overview.js'
import { addPasswordRoutes } from './routes/password.js'
import { addSessionRoutes } from './routes/sessions.js'

/** @import { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify' */
/** @import { SessionFacts } from '../imap/session/session-facts.js' */

/**
 * @typedef {object} ImapSessionPort - the sessions of all workers
 * @property {(accountId: string) => Promise<SessionFacts[]>} list - of the account, oldest first
 * @property {(which: { accountId: string, sessionId: string }) => Promise<boolean>} end - false where the account has none
 *   of that id
 *
 * @typedef {object} PageParts
 * @property {import('../accounts/services.js').AccountServices} services
 * @property {import('./page-sessions.js').SharedPageSessions} sessions
 * @property {ImapSessionPort} imapSessions
 * @property {import('./downloads.js').Downloads} downloads
 * @property {(request: import('node:http').IncomingMessage) => string} addressOf - the client's
 */

const FORM = 'application/x-www-form-urlencoded'

/** Room for the largest form: three passwords of 1000 characters, each of up to four bytes, each byte written as three. */
const BODY_LIMIT_BYTES = 64 * 1024

/** Nothing is loaded from elsewhere, nothing runs, nothing is sent elsewhere, and nobody shows the page in a frame. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'"
].join('; ')

const HEADERS = Object.freeze({
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With `no-referrer` browsers would send `Origin: null` with a form, and it would be refused.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin'
})

/** @type {Record<string, string>} */
const FILES = { 'style.css': 'text/css; charset=utf-8', 'icon.svg': 'image/svg+xml' }

/** @param {FastifyReply} reply */
function addHeaders(reply) {
  reply.headers(HEADERS)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
}

/** @param {FastifyRequest} request */
const onlyLooks = ({ method }) => method === 'GET' || method === 'HEAD'

/**
 * @param {PageParts} parts
 * @param {(handler: import('node:http').RequestListener) => import('node:https').Server} makeServer
 * @returns {Promise<FastifyInstance>} ready; nobody listens yet
 */
export async function createPageServer(parts, makeServer) {
  const { logger } = parts.services
  const app = /** @type {FastifyInstance} */ (
    /** @type {unknown} */ (
      fastify({
        logger: false,
        bodyLimit: BODY_LIMIT_BYTES,
        serverFactory: makeServer,
        // For errors before a route is found, where hooks do not run.
        frameworkErrors: (_error, _request, reply) => {
          addHeaders(reply)
          sendPage(reply, 400, problemPage({ status: 400, text: 'There is no such page.' }))
        }
      })
    )
  )
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    FORM,
    { parseAs: 'buffer' },
    async (/** @type {unknown} */ _request, /** @type {Buffer} */ body) => new FormBody(body)
  )
  app.decorateRequest('pageLogin', null)
  app.addHook('onRequest', async (request) => {
    if (!onlyLooks(request)) requireSameOrigin(request)
  })
  app.addHook('onSend', async (request, reply) => {
    // In `onSend`, as `onResponse` does not run where the browser has gone.
    formOf(request).dispose()
    addHeaders(reply)
  })
  app.setNotFoundHandler((_request, reply) =>
    sendPage(reply, 404, problemPage({ status: 404, text: 'There is no such page.' }))
  )
  app.setErrorHandler((error, request, reply) => {
    // The browser has gone during a download: nobody reads an answer, and nothing went wrong here.
    if (request.raw.socket.destroyed && errorCodeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE') return
    const known = problemOf(error)
    if (known) return sendPage(reply, known.status, problemPage(known))
    const reference = randomUUID()
    logger.error({ err: error, reference }, 'a request to the page for users failed')
    const text = `Something went wrong here. Whoever runs this server finds more in the log under ${reference}.`
    return sendPage(reply, 500, problemPage({ status: 500, text }))
  })
  addFiles(app)
  addLoginRoutes(app, parts)
  await app.register(async (own) => {
    own.addHook('onRequest', (request, reply) => requireLogin(parts, request, reply))
    own.addHook('preHandler', async (request) => {
      if (request.method === 'POST' && request.pageLogin) {
        requireToken(request.pageLogin.session, formOf(request))
      }
    })
    addOverview(own, parts)
    addPasswordRoutes(own, parts)
    addAppPasswordRoutes(own, parts)
    addSessionRoutes(own, parts)
    addDownloadRoutes(own, parts)
  })
  await app.ready()
  return app
}

/**
 * @param {PageParts} parts
 * @param {FastifyRequest} request
 * @param {FastifyReply} reply
 * @returns {Promise<FastifyReply | void>}
 * @throws {Refusal} 403 for a form; a request that only looks is redirected to the login
 */
async function requireLogin({ sessions, services }, request, reply) {
  request.pageLogin = await findLogin({ request, sessions, directory: services.directory })
  if (request.pageLogin) return
  if (onlyLooks(request)) return reply.redirect('/login', 303)
  throw new Refusal(403, 'You are not logged in any more, so nothing was done.')
}

/** @param {FastifyInstance} app */
function addFiles(app) {
  for (const [name, type] of Object.entries(FILES)) {
    const content = readFileSync(new URL(`static/${name}`, import.meta.url))
    app.get(`/${name}`, async (_request, reply) =>
      reply.type(type).header('cache-control', 'no-cache').send(content)
    )
  }
}

/**
 * @param {import('./problem.js').Problem} problem
 * @returns {string}
 */
const problemPage = (problem) =>
  renderPage({
    title: problem.status === 404 ? 'Not found' : 'That did not work',
    problem,
    body: html`<p><a href="/">Back to the first page</a></p>`
  })
