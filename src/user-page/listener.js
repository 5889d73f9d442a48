/**
 * The page's HTTPS server: certificates by name and replaced while it runs, as those of IMAP, and a PROXY header before TLS
 * where a load balancer stands in front.
 */
import { createServer } from 'node:https'
import { makeTlsContext } from '../imap/session/tls-context.js'
import { clientOf, noteClients } from '../support/client-address.js'
import { CONNECTION_CHECKS_MS } from '../support/http-checks.js'
import { TLS_POLICY } from '../support/tls-policy.js'

/** @import { IncomingMessage, RequestListener } from 'node:http' */
/** @import { Socket } from 'node:net' */
/** @import { TlsSettings } from '../imap/session/tls-context.js' */
/** @import { ProxyTrust } from '../support/proxy-header.js' */

/** The handshake, and the head of a request, may take at most so long, ms: strangers hold no sockets for long. */
const HANDSHAKE_MS = 10_000
/** A whole request may take at most so long, ms; the largest is a form. */
const REQUEST_MS = 30_000
/** A connection without a request is closed after so long, ms. */
const KEEP_ALIVE_MS = 15_000
/** At most so many connections at once; a browser opens up to six. */
const MAX_CONNECTIONS = 2000

const PROTOCOLS = ['http/1.1']

/** One HTTPS server. */
export class HttpsListener {
  #context
  #tls
  /** @type {Map<string, string>} the client's address by address and port of the balancer (`endOf`) */
  #clients = new Map()
  /** @type {import('node:https').Server | null} */
  #server = null

  /** @param {TlsSettings} tls */
  constructor(tls) {
    this.#tls = tls
    this.#context = makeTlsContext(tls, PROTOCOLS)
  }

  /**
   * For fastify's `serverFactory`.
   *
   * @param {RequestListener} handler
   * @returns {import('node:https').Server}
   */
  makeServer(handler) {
    const { others: _, ...main } = this.#tls
    const server = createServer(
      {
        ...main,
        ...TLS_POLICY,
        ALPNProtocols: PROTOCOLS,
        SNICallback: (name, done) => {
          const { SNICallback, secureContext } = this.#context
          if (SNICallback) SNICallback(name, done)
          else done(null, secureContext)
        },
        handshakeTimeout: HANDSHAKE_MS,
        headersTimeout: HANDSHAKE_MS,
        requestTimeout: REQUEST_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: CONNECTION_CHECKS_MS
      },
      handler
    )
    server.maxConnections = MAX_CONNECTIONS
    noteClients(server, {
      isTls: true,
      addressOf: (socket) => this.#clients.get(endOf(socket)) ?? socket.remoteAddress
    })
    this.#server = server
    return server
  }

  /**
   * @param {{ host: string, port: number, proxy?: ProxyTrust | null }} where
   * @returns {Promise<{ host: string, port: number }>} as bound
   */
  async listen({ host, port, proxy = null }) {
    const server = this.#server
    if (!server) throw new Error('the server was not made')
    if (proxy) this.#takeHeaders(server, proxy)
    await new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, () => {
        server.off('error', reject)
        resolve(undefined)
      })
    })
    const bound = /** @type {import('node:net').AddressInfo} */ (server.address())
    return { host: bound.address, port: bound.port }
  }

  /**
   * @param {IncomingMessage} request
   * @returns {string} the client's address, as IMAP has it
   */
  addressOf({ socket }) {
    return clientOf(socket) ?? ''
  }

  /** @param {TlsSettings} tls - for new handshakes */
  replaceCertificate(tls) {
    this.#tls = tls
    this.#context = makeTlsContext(tls, PROTOCOLS)
    const { others: _, ...main } = tls
    this.#server?.setSecureContext({ ...main, ...TLS_POLICY })
  }

  /** @param {{ graceMs: number }} options - how long answers under way may still take */
  async close({ graceMs }) {
    const server = this.#server
    if (!server?.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeIdleConnections()
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(cut)
  }

  /**
   * Has the PROXY header of each connection read before the server gets the connection.
   *
   * @param {import('node:https').Server} server
   * @param {ProxyTrust} proxy
   */
  #takeHeaders(server, proxy) {
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', async (/** @type {Socket} */ socket) => {
      const end = endOf(socket)
      const client = await proxy.clientOf(socket).catch(() => null)
      if (client === null || socket.destroyed) {
        socket.destroy()
        return
      }
      this.#clients.set(end, client)
      socket.once('close', () => this.#clients.delete(end))
      for (const listener of listeners) listener.call(server, socket)
    })
  }
}

/**
 * @param {Pick<Socket, 'remoteAddress' | 'remotePort'>} socket - or the TLS socket over it, which has the same
 * @returns {string}
 */
const endOf = ({ remoteAddress, remotePort }) => `${remoteAddress} ${remotePort}`
