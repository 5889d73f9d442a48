/**
 * Where mail programs ask for their settings, over HTTPS. Nothing is looked up: an address that is none here gets the same
 * answer as one that is, and no request costs more than a few lines of XML.
 */
import { createServer } from 'node:http'
import { fastify } from 'fastify'
import { normalizeDomain, parseAddress } from '../accounts/address.js'
import { MailError } from '../errors.js'
import { parseListenAddress } from '../support/listen-address.js'
import { CONNECTION_CHECKS_MS } from '../support/http-checks.js'
import { isLoopback } from '../support/loopback.js'
import { HttpsListener } from '../user-page/listener.js'
import { autoconfigDocument } from './autoconfig.js'
import { askedAddress, autodiscoverDocument, autodiscoverRefusal } from './autodiscover.js'
import { clientSettings } from './client-settings.js'
import { mobileconfigDocument } from './mobileconfig.js'

/** @import { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify' */
/** @import { ClientSettings } from './client-settings.js' */
/** @import { TlsSettings } from '../imap/session/tls-context.js' */

/** At most so many bytes of a body: Outlook's request is some XML with one address. */
const BODY_LIMIT_BYTES = 16 * 1024
/** A whole request may take at most so long, ms: strangers hold no sockets for long. */
const REQUEST_MS = 10_000

const XML = 'text/xml; charset=utf-8'

/**
 * Paths at which Thunderbird looks, each with the host that it asks there: a name below the mail domain, or that domain itself,
 * which has letters in it (an IP address has none).
 *
 * @type {readonly [path: string, host: RegExp][]}
 */
const AUTOCONFIG_PLACES = [
  ['/mail/config-v1.1.xml', /^autoconfig\.(.+)$/i],
  ['/.well-known/autoconfig/mail/config-v1.1.xml', /^(?:autoconfig\.)?(.+\.[a-z][a-z0-9-]*)$/i]
]

const NO_SUCH_REQUEST = 'That is no such request\n'

/**
 * @typedef {object} DiscoveryServer
 * @property {FastifyInstance} app - for tests
 * @property {(where: { host: string, port: number }) => Promise<{ host: string, port: number }>} listen
 * @property {(tls: TlsSettings) => void} replaceCertificate - for new handshakes
 * @property {() => Promise<void>} close
 */

/**
 * @param {object} options
 * @param {import('./client-settings.js').DiscoveryConfig & { defaultDomain: string, discovery: { listen: string, isTls: boolean } }} options.config
 * @param {TlsSettings} options.tls
 * @returns {Promise<DiscoveryServer>} ready to listen
 * @throws {MailError} CONFIG_INVALID where it would be plain HTTP beyond this machine
 */
export async function createDiscoveryServer({ config, tls }) {
  const { isTls, listen } = config.discovery
  const where = parseListenAddress(listen)
  if (!isTls && where !== null && !isLoopback(where.host)) {
    throw new MailError('CONFIG_INVALID', {
      detail: 'discovery.isTls: without TLS it listens on 127.0.0.1 or ::1 alone'
    })
  }
  const listener = new HttpsListener(tls)
  const app = /** @type {FastifyInstance} */ (
    /** @type {unknown} */ (
      fastify({
        logger: false,
        forceCloseConnections: true,
        bodyLimit: BODY_LIMIT_BYTES,
        requestTimeout: REQUEST_MS,
        frameworkErrors: (_error, _request, reply) => {
          refuseUnrouted(reply)
        },
        // Outlook writes /Autodiscover/Autodiscover.xml as well.
        routerOptions: { caseSensitive: false },
        serverFactory: (handler) =>
          isTls
            ? listener.makeServer(handler)
            : createServer(
                { requestTimeout: REQUEST_MS, connectionsCheckingInterval: CONNECTION_CHECKS_MS },
                handler
              )
      })
    )
  )
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    '*',
    { parseAs: 'string' },
    async (/** @type {unknown} */ _, /** @type {string} */ body) => body
  )
  app.addHook('onSend', async (_request, reply) => addHeaders(reply))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send('Not found\n'))
  app.setErrorHandler((error, _request, reply) => {
    const { statusCode = 500 } = /** @type {{ statusCode?: number }} */ (error)
    const isBad = error instanceof MailError || (statusCode >= 400 && statusCode < 500)
    const status = error instanceof MailError ? 400 : isBad ? statusCode : 500
    return reply.code(status).send(isBad ? NO_SUCH_REQUEST : 'Try again later\n')
  })
  addRoutes(app, clientSettings(config), config.defaultDomain)
  await app.ready()

  return {
    app,
    async listen(where) {
      await app.listen(where)
      const bound = /** @type {import('node:net').AddressInfo} */ (app.server.address())
      return { host: bound.address, port: bound.port }
    },
    replaceCertificate: (changed) => {
      if (isTls) listener.replaceCertificate(changed)
    },
    close: async () => {
      await app.close()
    }
  }
}

/** @param {FastifyReply} reply - before there is a route; hooks do not run for it */
function refuseUnrouted(reply) {
  addHeaders(reply)
  reply.code(400).send(NO_SUCH_REQUEST)
}

/** @param {FastifyReply} reply */
function addHeaders(reply) {
  reply.header('x-content-type-options', 'nosniff')
  reply.header('cache-control', 'no-store')
}

/**
 * @param {FastifyInstance} app
 * @param {ClientSettings} settings
 * @param {string} defaultDomain
 */
function addRoutes(app, settings, defaultDomain) {
  for (const [path, host] of AUTOCONFIG_PLACES) {
    app.get(path, async (request, reply) => {
      const address = queryValue(request, 'emailaddress')
      const domain =
        address === null ? domainOfHost(request, host, defaultDomain) : parseAddress(address).domain
      reply.type(XML)
      return autoconfigDocument({ domain, settings })
    })
  }
  app.get('/email.mobileconfig', async (request, reply) => {
    const { address, domain } = parseAddress(queryValue(request, 'email') ?? '')
    reply.type('application/x-apple-aspen-config; charset=utf-8')
    reply.header('content-disposition', 'attachment; filename="email.mobileconfig"')
    return mobileconfigDocument({ address, domain, settings })
  })
  app.post('/autodiscover/autodiscover.xml', async (request, reply) => {
    reply.type(XML)
    try {
      const { address } = parseAddress(askedAddress(String(request.body)) ?? '')
      return autodiscoverDocument({ address, settings })
    } catch (error) {
      if (!(error instanceof MailError)) throw error
      reply.code(400)
      return autodiscoverRefusal()
    }
  })
}

/**
 * @param {FastifyRequest} request
 * @param {string} name
 * @returns {string | null}
 */
function queryValue(request, name) {
  const { [name]: value } = /** @type {Record<string, unknown>} */ (request.query)
  return typeof value === 'string' && value !== '' ? value : null
}

/**
 * Finds the mail domain of a program that does not say whose settings it wants: it has asked that domain, or a name below it.
 *
 * @param {FastifyRequest} request
 * @param {RegExp} host - of AUTOCONFIG_PLACES
 * @param {string} defaultDomain
 * @returns {string}
 */
function domainOfHost({ hostname }, host, defaultDomain) {
  const name = host.exec(hostname)?.[1]
  return name === undefined ? defaultDomain : normalizeDomain(name)
}
