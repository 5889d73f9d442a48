/**
 * The way of every page: GET shows it, and POST does something. After that the browser is sent back to the page with a notice,
 * or is shown what is seen this once, or the form again with what was wrong.
 */
import { FormBody } from './form-body.js'
import { renderPage } from './layout.js'
import { problemOf } from './problem.js'

/** @import { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify' */
/** @import { PageLogin } from './guard.js' */
/** @import { Html } from './html.js' */
/** @import { PageParts } from './server.js' */

/**
 * @typedef {object} Visit
 * @property {FastifyRequest} request
 * @property {FastifyReply} reply
 * @property {PageLogin} login
 * @property {FormBody} form
 * @property {string} remoteAddress - the client's
 *
 * @typedef {{ done: string } | { body: Html } | { reply: unknown }} Outcome - `done`: a notice's name; `body`: shown this once;
 *   `reply`: sent already
 *
 * @typedef {object} PageRoute
 * @property {string} path
 * @property {string} title
 * @property {(login: PageLogin) => Html | Promise<Html>} view
 * @property {Record<string, string>} [notices] - by name
 * @property {Record<string, (visit: Visit) => Promise<Outcome>>} [actions] - by path
 */

/**
 * @param {FastifyReply} reply
 * @param {number} status
 * @param {string} page
 * @returns {FastifyReply}
 */
export const sendPage = (reply, status, page) =>
  reply.code(status).type('text/html; charset=utf-8').send(page)

/**
 * @param {FastifyRequest} request
 * @returns {FormBody} an empty one where none was sent
 */
export const formOf = ({ body }) =>
  body instanceof FormBody ? body : new FormBody(Buffer.alloc(0))

/**
 * @param {FastifyInstance} app - whose requests have a login
 * @param {PageParts} parts
 * @param {PageRoute} route
 */
export function addPage(app, { addressOf }, { path, title, view, notices = {}, actions = {} }) {
  app.get(path, async (request, reply) => {
    const login = loginOf(request)
    const { done = '' } = /** @type {{ done?: string }} */ (request.query)
    const notice = Object.hasOwn(notices, done) ? notices[done] : null
    const body = await view(login)
    return sendPage(reply, 200, renderPage({ title, login, path, body, notice: notice ?? null }))
  })
  for (const [action, act] of Object.entries(actions)) {
    app.post(action, async (request, reply) => {
      const login = loginOf(request)
      const visit = { request, reply, login, form: formOf(request) }
      try {
        const outcome = await act({ ...visit, remoteAddress: addressOf(request.raw) })
        if ('reply' in outcome) return outcome.reply
        if ('done' in outcome) return reply.redirect(`${path}?done=${outcome.done}`, 303)
        return sendPage(reply, 200, renderPage({ title, login, path, body: outcome.body }))
      } catch (error) {
        const problem = problemOf(error)
        if (problem === null) throw error
        const body = await view(login)
        return sendPage(reply, problem.status, renderPage({ title, login, path, body, problem }))
      }
    })
  }
}

/**
 * @param {FastifyRequest} request
 * @returns {PageLogin}
 */
function loginOf({ pageLogin }) {
  if (!pageLogin) throw new Error('the route asks for no login')
  return pageLogin
}
