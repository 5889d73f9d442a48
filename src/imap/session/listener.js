/**
 * The IMAP server: its listening sockets, the sessions on them, and the one timer that serves them all.
 *
 * Two kinds of sockets: plain with STARTTLS (RFC 3501 §6.2.1), and TLS from the first byte (RFC 8314 §3).
 */
import { createServer } from 'node:net'
import { CODE } from '../protocol/compile/response-code.js'
import { limitsBeforeLogin } from '../protocol/limits.js'
import { Receiver } from '../protocol/receiver.js'
import { AddressList } from '../../support/address-list.js'
import { isLoopback } from '../../support/loopback.js'
import { readShared } from '../../support/shared-read.js'
import { Admission } from './admission.js'
import { Allowances } from './allowance.js'
import { BackgroundDownloads } from './background-downloads.js'
import { INPUT_BYTES } from './client-input.js'
import { Connection } from './connection.js'
import { endAll } from './end-all.js'
import { pollForIdlers } from './poll-idlers.js'
import { serveSession } from './serve-session.js'
import { Session } from './session.js'
import { makeTlsContext } from './tls-context.js'

/** @import { Server, Socket } from 'node:net' */
/** @import { ProxyTrust } from '../../support/proxy-header.js' */
/** @import { SessionCounts } from './session-facts.js' */
/** @import { TlsSettings } from './tls-context.js' */
/** @import { Clock } from '../../support/clock.js' */
/** @import { Authenticate, ImapConfig, ImapServerContext, Login, SessionLogger } from './server-context.js' */

/** Deadlines, IDLE reminders and other processes' changes are looked at every so many ms. */
const TICK_MS = 1000
/** For sessions in IDLE, other processes' changes are looked for every so many ticks. */
const TICKS_PER_POLL = 2
/** A session that is ended may take at most so many ms for its running command: a client may never read the answer. */
const END_MS = 60_000
/** The kernel holds at most so many connections for us while the process is busy. */
const BACKLOG = 1024

/**
 * @typedef {object} ImapServerOptions
 * @property {ImapConfig} config
 * @property {Authenticate} authenticate
 * @property {TlsSettings | null} tls - certificates and keys; null only where TLS ends elsewhere
 * @property {Clock} clock
 * @property {Clock} steadyClock
 * @property {SessionLogger} logger
 * @property {(error: unknown) => void} [onUnexpectedError] - told of what became NO [SERVERBUG]; tests fail on it
 * @property {(limit: number) => number} [shareOf] - of a limit for all workers: this one's
 * @property {() => boolean} [admits] - whether the process can bear one more session; asked once for each
 */

/**
 * @typedef {object} ListenOptions
 * @property {string} host
 * @property {number} port
 * @property {boolean} isImplicitTls
 * @property {ProxyTrust | null} [proxy] - every connection begins with a PROXY header, from an address that it trusts
 */

/**
 * @typedef {object} AdoptedSession
 * @property {Socket} socket - to the worker that has the client's
 * @property {Login} login
 * @property {string} sessionId
 * @property {string} remoteAddress - the client's
 * @property {boolean} isTls - whether the client speaks TLS to the other worker
 * @property {string | null} [clientName] - as the client said before its login
 */

/**
 * @typedef {object} ImapServer
 * @property {(options: ListenOptions) => Promise<{ host: string, port: number }>} listen -
 *   resolves with what was bound; port 0 takes a free one
 * @property {(session: AdoptedSession) => void} adopt - serves a session that another worker has logged in
 * @property {(accountId: string) => boolean} hasRoomFor - whether one more session of the account may begin
 * @property {(accountId: string, text: string, credential?: { id: string, version: number }) => void} endSessions - BYE to
 *   every session of the account, or that has logged in with that, after its running command; cut off after a minute
 * @property {(tls: TlsSettings) => void} replaceCertificate - for new handshakes
 * @property {() => SessionCounts} counts
 * @property {() => import('./session-facts.js').SessionFacts[]} listSessions - those that are logged in, oldest first
 * @property {(sessionId: string, text: string) => boolean} endSession - as `endSessions`; false where there is none
 * @property {(options: { graceMs: number, isReplaced?: () => boolean }) => Promise<void>} close - no new connections, BYE to
 *   all after their running commands; what is left after graceMs is cut. While `isReplaced`, other workers take the clients,
 *   who are sent there within half of that time
 */

/**
 * @param {ImapServerOptions} options
 * @returns {ImapServer}
 */
export function createImapServer(options) {
  return new Listener(options)
}

/** @implements {ImapServer} */
class Listener {
  /** @type {Set<Server>} */
  #servers = new Set()
  /** @type {Set<Session>} */
  #sessions = new Set()
  /** @type {Set<Promise<void>>} */
  #running = new Set()
  /** How many of these sessions have a client that is connected to another worker. */
  #adopted = 0
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  #ticks = 0
  /** Whether a look for the sessions in IDLE is under way: with thousands, it may last beyond the next tick. */
  #isPolling = false
  #isClosing = false
  #admission
  #allowances
  #downloads
  /** @type {ImapServerContext} */
  #context

  /** @param {ImapServerOptions} options */
  constructor({
    config,
    authenticate,
    tls,
    clock,
    steadyClock,
    logger,
    onUnexpectedError = () => {},
    shareOf = (limit) => limit,
    admits = () => true
  }) {
    const { limits } = config
    const exempt = new AddressList(limits.exemptAddresses, 'limits.exemptAddresses')
    const isExempt = (/** @type {string} */ address) => exempt.has(address)
    this.#admission = new Admission({ bounds: config.imap, isExempt, shareOf, admits })
    this.#allowances = new Allowances({ limits, clock: steadyClock, shareOf, isExempt })
    const mostOf = () => shareOf(config.imap.maxBackgroundDownloads)
    this.#downloads = new BackgroundDownloads({ mostOf, admits })
    this.#context = {
      config,
      authenticate,
      tls: tls === null ? null : makeTlsContext(tls),
      clock,
      steadyClock,
      logger,
      onUnexpectedError,
      isPlaintextAllowed: (address) => config.imap.allowPlaintextLoopback && isLoopback(address),
      hasRoomFor: (accountId) => this.hasRoomFor(accountId),
      downloads: this.#downloads,
      paceOf: (session) => this.#allowances.paceOf(session)
    }
  }

  /**
   * @param {string} accountId
   * @returns {boolean} whether one more session of the account may begin
   */
  hasRoomFor(accountId) {
    const { maxConnectionsPerAccount } = this.#context.config.imap
    return this.#sessionsOf(accountId).length < maxConnectionsPerAccount
  }

  /** @param {AdoptedSession} adopted */
  adopt(adopted) {
    this.#adopted++
    this.#run(adopted.socket, this.#serveAdopted(adopted)).finally(() => this.#adopted--)
  }

  /**
   * @param {ListenOptions} options
   * @returns {Promise<{ host: string, port: number }>}
   */
  async listen({ host, port, isImplicitTls, proxy = null }) {
    // Half-open: a client may say its last words and close its side before it has our answers.
    // TLS reads into memory of its own.
    const isPlain = !isImplicitTls
    const options = { allowHalfOpen: true, highWaterMark: INPUT_BYTES, pauseOnConnect: isPlain }
    const server = createServer(options, (socket) => {
      this.#accept(isPlain ? readShared(socket) : socket, isImplicitTls, proxy)
    })
    await new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, backlog: BACKLOG }, () => {
        server.off('error', reject)
        resolve(undefined)
      })
    })
    server.on('error', (error) => this.#context.logger.error({ err: error }, 'listener failed'))
    this.#servers.add(server)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
    const bound = /** @type {import('node:net').AddressInfo} */ (server.address())
    return { host: bound.address, port: bound.port }
  }

  /** @param {TlsSettings} tls */
  replaceCertificate(tls) {
    this.#context.tls = makeTlsContext(tls)
  }

  /** @returns {SessionCounts} */
  counts() {
    const loggedIn = [...this.#sessions].filter(({ accountId }) => accountId !== null)
    return {
      connections: this.#running.size - this.#adopted,
      loggedIn: loggedIn.length,
      idling: loggedIn.filter(({ isIdling }) => isIdling).length,
      background: this.#downloads.count
    }
  }

  /** @returns {import('./session-facts.js').SessionFacts[]} */
  listSessions() {
    return [...this.#sessions].map(({ facts }) => facts).filter((facts) => facts !== null)
  }

  /**
   * @param {string} sessionId
   * @param {string} text
   * @returns {boolean} false where there is no such session
   */
  endSession(sessionId, text) {
    for (const session of this.#sessions) {
      if (session.connection.id !== sessionId || session.accountId === null) continue
      session.end(text, { withinMs: END_MS })
      return true
    }
    return false
  }

  /**
   * @param {string} accountId
   * @param {string} text
   * @param {{ id: string, version: number }} [credential]
   */
  endSessions(accountId, text, credential) {
    for (const session of this.#sessionsOf(accountId))
      if (!credential || session.isBy(credential)) session.end(text, { withinMs: END_MS })
  }

  /** @param {{ graceMs: number, isReplaced?: () => boolean }} options */
  async close({ graceMs, isReplaced = () => false }) {
    this.#isClosing = true
    for (const server of this.#servers) server.close()
    const text = 'The server is shutting down'
    const ending = endAll([...this.#sessions], text, { graceMs, isReplaced })
    const cut = setTimeout(() => {
      for (const { connection } of this.#sessions) connection.destroy()
    }, graceMs)
    while (this.#running.size > 0) await Promise.all(this.#running)
    clearTimeout(cut)
    await ending
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /**
   * @param {string} accountId
   * @returns {Session[]}
   */
  #sessionsOf(accountId) {
    return [...this.#sessions].filter((session) => session.accountId === accountId)
  }

  /**
   * @param {Socket} socket
   * @param {boolean} isImplicitTls
   * @param {ProxyTrust | null} proxy
   */
  #accept(socket, isImplicitTls, proxy) {
    this.#run(socket, this.#serve(socket, isImplicitTls, proxy))
  }

  /**
   * @param {Socket} socket
   * @param {Promise<void>} serving
   * @returns {Promise<void>} when it is over
   */
  #run(socket, serving) {
    const running = serving.catch((error) => {
      this.#context.logger.error({ err: error }, 'connection failed')
      this.#context.onUnexpectedError(error)
      socket.destroy()
    })
    this.#running.add(running)
    return running.finally(() => this.#running.delete(running))
  }

  /**
   * @param {Socket} socket
   * @param {boolean} isImplicitTls
   * @param {ProxyTrust | null} proxy
   */
  async #serve(socket, isImplicitTls, proxy) {
    const remoteAddress = proxy === null ? socket.remoteAddress : await proxy.clientOf(socket)
    if (remoteAddress === null) {
      socket.destroy()
      return
    }
    const entry = this.#admission.enter(remoteAddress ?? '', {
      connections: this.#sessions.size,
      isClosing: this.#isClosing
    })
    if (entry === null) {
      socket.destroy()
      return
    }
    try {
      await this.#serveEntered(socket, { remoteAddress, isImplicitTls, refusal: entry.refusal })
    } finally {
      entry.leave()
    }
  }

  /**
   * @param {Socket} socket
   * @param {{ remoteAddress: string | undefined, isImplicitTls: boolean, refusal: string | null }} client
   */
  async #serveEntered(socket, { remoteAddress, isImplicitTls, refusal }) {
    const context = this.#context
    const connection = new Connection({
      socket,
      ...(remoteAddress !== undefined && { remoteAddress }),
      receiver: new Receiver(limitsBeforeLogin()),
      nowMs: context.steadyClock.nowMs()
    })
    const session = new Session({ connection, context })
    this.#sessions.add(session)
    try {
      if (isImplicitTls && !(await this.#secure(connection))) return
      if (refusal === null) await serveSession(session)
      else {
        session.untagged('BYE', CODE.unavailable, refusal)
        connection.end()
      }
      await connection.closed
    } finally {
      this.#forget(session)
    }
  }

  /** @param {AdoptedSession} adopted */
  async #serveAdopted({ socket, login, sessionId, remoteAddress, isTls, clientName = null }) {
    const context = this.#context
    const nowMs = context.steadyClock.nowMs()
    const receiver = new Receiver(limitsBeforeLogin())
    const client = { id: sessionId, remoteAddress, isTls }
    const connection = new Connection({ socket, receiver, nowMs, ...client })
    const session = new Session({ connection, context })
    session.clientName = clientName
    this.#sessions.add(session)
    if (this.#isClosing) session.end('The server is shutting down')
    try {
      await serveSession(session, login)
      await connection.closed
    } finally {
      this.#forget(session)
    }
  }

  /** @param {Session} session - that has ended */
  #forget(session) {
    this.#sessions.delete(session)
    this.#downloads.end(session)
  }

  /**
   * @param {Connection} connection
   * @returns {Promise<boolean>} whether the handshake is through
   */
  async #secure(connection) {
    const { tls, config, steadyClock } = this.#context
    if (tls === null) throw new Error('TLS was asked for without a certificate')
    const deadlineMs = steadyClock.nowMs() + config.imap.loginTimeoutMs
    return await connection.secure({ tls, deadlineMs })
  }

  #tick() {
    const nowMs = this.#context.steadyClock.nowMs()
    this.#allowances.tidy()
    for (const session of this.#sessions) session.tick(nowMs)
    if (++this.#ticks % TICKS_PER_POLL === 0 && !this.#isPolling) this.#pollForIdlers()
  }

  async #pollForIdlers() {
    this.#isPolling = true
    const onError = (/** @type {unknown} */ error) => {
      this.#context.logger.error({ err: error }, 'poll for other processes failed')
    }
    await pollForIdlers(this.#sessions, onError).catch(onError)
    this.#isPolling = false
  }
}
