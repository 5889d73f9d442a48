/**
 * The operator's HTTP server: health and figures, the /v1 interface with its OpenAPI document, and the dashboard.
 *
 * Every /v1 route names the scopes that open it (`config.access`), or the server does not start; errors are problem details
 * (RFC 9457), whatever raised them.
 */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { fastify } from 'fastify'
import { clientOf, noteClients } from '../support/client-address.js'
import { CONNECTION_CHECKS_MS } from '../support/http-checks.js'
import { TLS_POLICY } from '../support/tls-policy.js'
import { removeStaleSocket, setSocketAccess } from '../support/unix-socket.js'
import { requireToken } from './access.js'
import { addDashboard } from './dashboard.js'
import { createErrorHandler, plainProblem, PROBLEM_TYPE, sendProblem } from './problem.js'
import { addAccountPartRoutes } from './routes/account-parts.js'
import { addAccountRoutes } from './routes/accounts.js'
import { addHealthRoutes, addHostRoutes } from './routes/health.js'
import { addOperationRoutes } from './routes/operations.js'
import { addSessionRoutes } from './routes/sessions.js'
import { addTenantRoutes } from './routes/tenants.js'
import { compileValidator } from './validation.js'

/** @import { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify' */

/**
 * @typedef {object} SessionPort - the sessions of all workers
 * @property {() => Promise<import('../imap/session/session-facts.js').SessionFacts[]>} list
 * @property {(sessionId: string) => Promise<boolean>} end - false where there is none
 *
 * @typedef {object} AdminParts
 * @property {import('../accounts/services.js').AccountServices} services
 * @property {import('./host-state.js').HostState} state
 * @property {SessionPort} sessions
 * @property {() => boolean} isReady - all listeners are up and none is closing, or other workers serve
 * @property {string} version
 * @property {{ cert: Buffer, key: Buffer } | null} [tls] - with it the server speaks HTTPS
 */

/**
 * @typedef {object} AdminServer
 * @property {FastifyInstance} app - for tests
 * @property {(address: { host: string, port: number }) => Promise<{ host: string, port: number }>} listen
 * @property {(tls: { certificate: Buffer, key: Buffer }) => void} replaceCertificate - for new handshakes, where it speaks HTTPS
 * @property {(path: string) => Promise<void>} listenOnSocket - a unix socket for the server's user alone, instead of a port
 * @property {() => Promise<void>} close
 */

const BODY_LIMIT_BYTES = 64 * 1024
/** The handshake, and the head of a request, may take at most so long, ms: strangers hold no sockets for long. */
const HEAD_MS = 10_000
/** A whole request may take at most so long, ms; the largest is some 64 KiB. */
const REQUEST_MS = 30_000
/** At most so many connections at once, of monitors, programs and browsers: strangers must not use up IMAP's descriptors. */
const MAX_CONNECTIONS = 500

/** Statuses by the code of an error that comes before there is a request; all others are 400. */
const UNREADABLE_STATUS = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408]
])

/** The parts of the OpenAPI document that belong to no single route. */
const OPENAPI = Object.freeze({
  openapi: '3.1.0',
  info: {
    title: 'Letterlock',
    description: 'Accounts, sessions and the health of a Letterlock host.'
  },
  components: {
    securitySchemes: {
      token: {
        type: /** @type {const} */ ('http'),
        scheme: 'bearer',
        description: 'Made by `letterlock token create`'
      }
    }
  },
  security: [{ token: [] }]
})

/**
 * For the page below /v1/docs. With swagger-ui's own policy, browsers ask for its files over HTTPS, which this server may not
 * speak, and may load some from elsewhere.
 */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

/**
 * @param {AdminParts} parts
 * @returns {Promise<AdminServer>} ready to listen
 */
export async function createAdminServer(parts) {
  const { services, version, tls = null } = parts
  const limits = {
    headersTimeout: HEAD_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CONNECTION_CHECKS_MS
  }
  const app = /** @type {FastifyInstance} */ (
    /** @type {unknown} */ (
      fastify({
        logger: false,
        // A monitor's keep-alive connection must not hold up the shutdown.
        forceCloseConnections: true,
        bodyLimit: BODY_LIMIT_BYTES,
        routerOptions: { maxParamLength: 400 },
        // For errors before a route is found, where hooks do not run.
        frameworkErrors: (error, _request, reply) => {
          addHeaders(reply)
          sendProblem(reply, plainProblem(error.statusCode ?? 400))
        },
        clientErrorHandler: refuseUnreadable,
        requestTimeout: REQUEST_MS,
        ...(tls
          ? { https: { ...tls, ...limits, handshakeTimeout: HEAD_MS, ...TLS_POLICY } }
          : { http: limits })
      })
    )
  )
  // Bodies are JSON. Text would be parsed as such, and refused with the misleading words that it must be an object.
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(compileValidator)
  app.decorateRequest('token', null)
  app.decorateRequest('auditAccountId', null)
  app.setErrorHandler(createErrorHandler(services.logger))
  app.addHook('onSend', async (_request, reply) => addHeaders(reply))
  answerUnknown(app)
  addHealthRoutes(app, parts)
  await addDashboard(app)
  await app.register(swagger, {
    openapi: { ...OPENAPI, info: { ...OPENAPI.info, version } }
  })
  await app.register(
    async (v1) => {
      guard(v1, services)
      addOperationRoutes(v1, parts)
      addHostRoutes(v1, parts)
      addTenantRoutes(v1, parts)
      addAccountRoutes(v1, parts)
      addAccountPartRoutes(v1, parts)
      addSessionRoutes(v1, parts)
    },
    { prefix: '/v1' }
  )
  app.get('/v1/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  await app.register(swaggerUi, { routePrefix: '/v1/docs', staticCSP: DOCS_POLICY })
  await app.ready()
  app.server.maxConnections = MAX_CONNECTIONS
  noteClients(app.server, { isTls: tls !== null })

  return {
    app,
    async listen({ host, port }) {
      await app.listen({ host, port })
      const address = app.server.address()
      return typeof address === 'object' && address !== null
        ? { host: address.address, port: address.port }
        : { host, port }
    },
    replaceCertificate({ certificate, key }) {
      const { server } = /** @type {{ server: import('node:https').Server }} */ (
        /** @type {unknown} */ (app)
      )
      server.setSecureContext({ cert: certificate, key, ...TLS_POLICY })
    },
    async listenOnSocket(path) {
      await removeStaleSocket(path)
      await app.listen({ path })
      await setSocketAccess(path, { mode: 0o600, group: null })
    },
    close: () => app.close()
  }
}

/** @param {FastifyReply} reply */
function addHeaders(reply) {
  reply.header('x-content-type-options', 'nosniff')
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
}

/**
 * Asks for a token before the body of a request is read, and puts on record what a token has changed.
 *
 * @param {FastifyInstance} v1
 * @param {AdminParts['services']} services
 */
function guard(v1, services) {
  v1.addHook('onRoute', ({ url, config }) => {
    if (!config?.access) throw new Error(`${url} does not say who may use it`)
  })
  v1.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config
    if (!access) throw new Error('the route does not say who may use it')
    request.token = await requireToken({ request, access, services })
  })
  // In `onSend`, as `onResponse` does not run where the client has gone, and what was done is recorded all the same.
  v1.addHook('onSend', async (request, reply) => {
    const { token, method } = request
    if (token === null || method === 'GET' || method === 'HEAD') return
    const { operationId = '' } = /** @type {{ operationId?: string }} */ (
      request.routeOptions.schema ?? {}
    )
    services.directory.audit({
      action: 'api-write',
      accountId: request.auditAccountId,
      tenant: token.tenant,
      remoteAddress: clientOf(request.raw.socket),
      detail: { token: token.id, operation: operationId, status: reply.statusCode }
    })
  })
}

/**
 * 404, or 405 where the path is known by another method (RFC 9110 §15.5.6).
 *
 * @param {FastifyInstance} app
 */
function answerUnknown(app) {
  /** @type {Map<RegExp, Set<string>>} */
  const methods = new Map()
  /** @type {Map<string, RegExp>} */
  const patterns = new Map()
  app.addHook('onRoute', ({ url, method }) => {
    if (url.includes('*')) return
    const pattern =
      patterns.get(url) ?? new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`)
    patterns.set(url, pattern)
    const known = methods.get(pattern) ?? new Set()
    for (const name of [method].flat()) known.add(name)
    methods.set(pattern, known)
  })
  const refuse = (/** @type {FastifyRequest} */ request, /** @type {FastifyReply} */ reply) => {
    const [path = ''] = request.url.split('?')
    const known = [...methods].find(([pattern]) => pattern.test(path))?.[1]
    return known && !known.has(request.method)
      ? sendProblem(reply, plainProblem(405), { allow: [...known].join(', ') })
      : sendProblem(reply, plainProblem(404))
  }
  app.setNotFoundHandler(refuse)
  // Refused here too, before fastify reads a body that nobody wants.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) return refuse(request, reply)
  })
}

/**
 * Answers bytes that are no HTTP request.
 *
 * @param {Error & { code?: string }} error
 * @param {import('node:net').Socket} socket
 */
function refuseUnreadable(error, socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
  const status = UNREADABLE_STATUS.get(error.code ?? '') ?? 400
  const problem = plainProblem(status)
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 ${status} ${problem.title}\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`
  )
}
