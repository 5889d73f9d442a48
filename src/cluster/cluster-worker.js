/**
 * One worker among several: knows the others, hands sessions to the worker that has their account open and takes those whose
 * account is open here, rings the others for new mail, and asks all workers for what only each of them knows.
 *
 *     client ──TLS──► this worker ── logs in ──► who holds the account? ── nobody, or this one: the mailbox is opened here
 *                                                                      └─ another: key and bytes go there, TLS stays here
 */
import { once } from 'node:events'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { readShared } from '../support/shared-read.js'
import { requireShortPath } from '../support/unix-socket.js'
import { readFrame } from './frame.js'
import { offerSession, takeSession } from './handoff.js'
import { Holders } from './holders.js'
import { answerLink } from './link.js'
import { Peers } from './peers.js'
import { relay } from './relay.js'
import { parseSocketName, socketNameOf } from './socket-name.js'

/** @import { Socket } from 'node:net' */
/** @import { AcquiredAccount } from '../accounts/open-accounts.js' */
/** @import { Unlocked } from '../accounts/unlock.js' */
/** @import { MailError } from '../errors.js' */
/** @import { ClientFacts, HandoffPort } from './handoff.js' */
/** @import { Peer } from './peers.js' */

/** Whoever connects says what for within so long, ms. */
const FIRST_FRAME_MS = 5_000
/** At most so many holders are tried; then the worker serves the session itself. */
const MAX_TRIES = 3

/**
 * @typedef {object} RemoteLogin - a login whose session another worker serves
 * @property {Unlocked['account']} account
 * @property {Unlocked['scope']} scope
 * @property {(connection: { socket: Socket, rest: Buffer }) => Promise<void>} relay - until the client has gone
 * @property {(text: string) => void} end - BYE after the running command
 * @property {() => Promise<void>} release - instead of `relay`
 */

/**
 * @typedef {object} ClusterOptions
 * @property {string} runFolder - `<data>/run`
 * @property {number} slot
 * @property {number} lingerMs - how long a key may stay in memory after its last session
 * @property {Pick<HandoffPort, 'admits' | 'hasRoomFor' | 'findAccount' | 'acquire' | 'adopt'>} port
 * @property {(accountId: string) => void} ring - called where mail lies in the account's spool
 * @property {(sessionId: string, text: string) => void} endSession
 * @property {(accountId: string) => void} forget - called once no relayed session of the account is left that came in here
 * @property {Record<string, (argument: any) => unknown>} answers - to `askAllWorkers`, by kind
 * @property {Record<string, (value: any) => void>} notices - what `tellOthers` tells, by kind
 * @property {import('../telemetry/logger.js').Logger} logger
 */

/**
 * @param {Peer} peer
 * @returns {Promise<boolean>} whether its event loop turns
 */
async function isAlive({ link }) {
  return (await link.ask({ op: 'ping' })) !== null
}

/** A worker that has joined the others. */
export class ClusterWorker {
  #options
  #peers
  #holders
  /** Resolved once this worker knows what the others hold. */
  #joined = Promise.withResolvers()
  #server
  #self
  /** @type {Set<Socket>} */
  #links = new Set()
  /** @type {Map<string, number>} relayed sessions by account */
  #relayed = new Map()
  /** @type {Set<string>} accounts that the others are told to ring when the loop turns */
  #toRing = new Set()

  /**
   * @param {ClusterOptions} options
   * @param {object} parts
   * @param {import('node:net').Server} parts.server - listening
   * @param {import('./peers.js').WorkerPlace} parts.self
   */
  constructor(options, { server, self }) {
    this.#options = options
    this.#server = server
    this.#self = self
    this.#peers = new Peers({
      folder: options.runFolder,
      self,
      onMet: ({ path }, answer) => {
        this.#holders.noteHeld(path, answer?.held ?? [])
        // Where an earlier link to it broke, it was not told what was opened here since.
        this.#holders.announce()
      },
      onGone: () => this.#holders.announce(),
      logger: options.logger
    })
    this.#holders = new Holders(self.path, this.#peers)
    server.on('connection', (accepted) => {
      const socket = readShared(accepted)
      this.#serve(socket).catch((err) => {
        options.logger.error({ err }, 'a worker’s connection failed')
        socket.destroy()
      })
    })
  }

  /**
   * Listens for the other workers and meets them all.
   *
   * @param {ClusterOptions} options
   * @returns {Promise<ClusterWorker>} once each of them knows this one
   * @throws {MailError} CONFIG_INVALID where the path is too long for a socket
   */
  static async join(options) {
    const { runFolder, slot } = options
    await mkdir(runFolder, { recursive: true, mode: 0o700 })
    const others = (await readdir(runFolder))
      .map((name) => parseSocketName(runFolder, name))
      .filter((place) => place?.slot === slot)
    const generation = 1 + Math.max(0, ...others.map((place) => place?.generation ?? 0))
    const candidate = { slot, generation, pid: process.pid }
    const path = join(runFolder, socketNameOf(candidate))
    const temporary = `${path}.new`
    requireShortPath(temporary)
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true })
    const worker = new ClusterWorker(options, { server, self: { ...candidate, path } })
    await rm(temporary, { force: true })
    // Without `exclusive`, node:cluster's primary would own the socket.
    server.listen({ path: temporary, exclusive: true })
    await once(server, 'listening')
    server.unref()
    await rename(temporary, path)
    await worker.#peers.start()
    worker.#joined.resolve(undefined)
    return worker
  }

  /** @returns {number} places among the workers that are taken: what a limit for all is divided by */
  get slots() {
    return this.#peers.slots
  }

  /** @returns {boolean} whether another worker takes sessions */
  get hasOthers() {
    return this.#peers.all.some(({ isLeaving }) => !isLeaving)
  }

  /**
   * The way from a login to a session: here, or in the worker that has the account open.
   *
   * @param {Unlocked} unlocked - its key is disposed of here, whatever happens
   * @param {ClientFacts} client
   * @returns {Promise<AcquiredAccount | RemoteLogin>}
   * @throws {MailError} as opening the mailbox does
   */
  async acquire(unlocked, client) {
    const { account, masterKey } = unlocked
    const claimant = this.#self.path
    /** @type {string[]} */
    const except = []
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const path = await this.#holders.claim({ accountId: account.id, claimant, except })
      if (path === null || path === claimant) break
      // The registrar may not have heard yet that a worker has gone, or is going.
      except.push(path)
      const holder = this.#peers.find(path)
      if (holder === null) continue
      try {
        const offer = await offerSession(path, unlocked, client, () => isAlive(holder))
        if (offer.state === 'taken') {
          masterKey.dispose()
          return this.#remoteLogin(unlocked, client, holder, offer.socket)
        }
        // A holder that has died is known to be gone in a moment; one that hangs may come back: no other is looked for.
        if (offer.state === 'silent') break
      } catch (error) {
        masterKey.dispose()
        this.#forgetLater(account.id)
        throw error
      }
    }
    // Nobody else has it open, or whoever does gives no answer: mail stays right with two that have it open.
    return await this.#options.port.acquire(unlocked)
  }

  /**
   * To be called when a mailbox is opened in this process: sessions that come in elsewhere are sent here from then on.
   *
   * @param {string} accountId
   */
  hold(accountId) {
    this.#holders.hold(accountId)
  }

  /**
   * To be called when a mailbox is closed in this process.
   *
   * @param {string} accountId
   */
  release(accountId) {
    this.#holders.release(accountId)
  }

  /**
   * @param {Unlocked} unlocked
   * @param {ClientFacts} client
   * @param {Peer} holder
   * @param {Socket} socket
   * @returns {RemoteLogin}
   */
  #remoteLogin({ account, scope }, { sessionId }, holder, socket) {
    this.#relayed.set(account.id, (this.#relayed.get(account.id) ?? 0) + 1)
    const done = () => {
      const left = (this.#relayed.get(account.id) ?? 1) - 1
      if (left > 0) this.#relayed.set(account.id, left)
      else {
        this.#relayed.delete(account.id)
        this.#forgetLater(account.id)
      }
    }
    return {
      account,
      scope,
      relay: async ({ socket: client, rest }) => {
        await relay({ client, rest, holder: socket, isHolderAlive: () => isAlive(holder) })
        done()
      },
      end: (text) => holder.link.tell({ op: 'endSession', sessionId, text }),
      release: async () => {
        socket.destroy()
        done()
      }
    }
  }

  /**
   * Here lies a copy of the key, by which a repeated login is recognised. It goes `lingerMs` after the last relayed session,
   * as it would where the mailbox is open.
   *
   * @param {string} accountId
   */
  #forgetLater(accountId) {
    const { lingerMs, forget } = this.#options
    const timer = setTimeout(() => {
      if (!this.#relayed.has(accountId)) forget(accountId)
    }, lingerMs)
    timer.unref()
  }

  /**
   * Tells the other workers that mail lies in the account's spool: once in a turn of the event loop, for all its accounts.
   *
   * @param {string} accountId
   */
  ring(accountId) {
    this.#toRing.add(accountId)
    if (this.#toRing.size > 1) return
    setImmediate(() => {
      const accountIds = [...this.#toRing]
      this.#toRing.clear()
      // Tells all and not the holder alone: for a moment another may have the mailbox open, too.
      for (const { link } of this.#peers.all) link.tell({ op: 'ring', accountIds })
    })
  }

  /**
   * Tells the other workers something that they do without answering.
   *
   * @param {string} kind - of `notices`
   * @param {unknown} value - plain data
   */
  tellOthers(kind, value) {
    for (const { link } of this.#peers.all) link.tell({ op: 'notice', kind, value })
  }

  /**
   * Asks every worker, this one first, for what `answers` has under that name.
   *
   * @param {string} kind - of `answers`
   * @param {unknown} [argument] - plain data
   * @param {{ timeoutMs?: number }} [options] - how long an answer may take; default: `ANSWER_MS` of link.js
   * @returns {Promise<unknown[]>} one for each worker that answered; one that has just died or hangs is left out
   */
  async askAllWorkers(kind, argument = null, options = {}) {
    const [own, ...others] = await Promise.all([
      this.#answer(kind, argument),
      ...this.#peers.all.map(({ link }) => link.ask({ op: 'ask', kind, argument }, options))
    ])
    return [own, ...others.filter((other) => other !== null).map(({ answer }) => answer)]
  }

  /** @returns {Promise<number>} workers that are connected and do not answer: they hang, or were stopped (SIGSTOP) */
  async countSilent() {
    const peers = this.#peers.all
    const alive = await Promise.all(peers.map(isAlive))
    // The link of a worker that has ended meanwhile is closed: that one is not silent but gone.
    return peers.filter(({ link }, index) => !alive[index] && !link.isClosed).length
  }

  /**
   * @param {string} kind
   * @param {unknown} argument
   */
  async #answer(kind, argument) {
    const answer = this.#options.answers[kind]
    if (answer === undefined) throw new Error(`no worker answers ${kind}`)
    return await answer(argument)
  }

  /** @param {Socket} socket - of another worker */
  async #serve(socket) {
    socket.on('error', () => socket.destroy())
    const frame = await readFrame(socket, { timeoutMs: FIRST_FRAME_MS })
    if (frame === null) {
      socket.destroy()
      return
    }
    if (frame.value.op === 'session') {
      const isTaking = () => !this.#peers.isLeaving
      return await takeSession(socket, frame, { ...this.#options.port, isTaking })
    }
    this.#links.add(socket)
    socket.on('close', () => this.#links.delete(socket))
    socket.on('end', () => socket.destroy())
    answerLink(
      socket,
      frame,
      (question) => this.#onQuestion(question),
      (err, op) => {
        this.#options.logger.error({ err, op }, 'a worker’s question failed')
      }
    )
  }

  /** @param {any} question */
  async #onQuestion(question) {
    const { ring, endSession, notices } = this.#options
    switch (question.op) {
      case 'hello':
        await this.#peers.meet(question.self)
        return { held: this.#holders.tell(question.self.path) }
      case 'claim':
        await this.#joined.promise
        return await this.#holders.claim(question)
      case 'holds':
        return this.#holders.holds(question.accountId)
      case 'holding':
        return this.#holders.noteHeld(question.path, question.accountIds)
      case 'released':
        return this.#holders.noteReleased(question.path, question.accountId)
      case 'ping':
        return true
      case 'ring':
        for (const accountId of question.accountIds) ring(accountId)
        return
      case 'endSession':
        return endSession(question.sessionId, question.text)
      case 'leaving':
        return this.#peers.noteLeaving(question.path)
      case 'notice':
        return notices[question.kind]?.(question.value)
      case 'ask':
        return await this.#answer(question.kind, question.argument)
      default:
        throw new Error(`unknown question ${question.op}`)
    }
  }

  /** From now on sessions go to the other workers; those that are here stay until they end. */
  async leave() {
    if (this.#peers.isLeaving) return
    this.#peers.leave()
    const { path } = this.#self
    await Promise.all(this.#peers.all.map(({ link }) => link.ask({ op: 'leaving', path })))
  }

  /** Leaves, and cuts what is left of connections to other workers. */
  async close() {
    await this.leave()
    this.#server.close()
    await rm(this.#self.path, { force: true })
    for (const socket of this.#links) socket.destroy()
    this.#peers.close()
  }
}
