/**
 * The backup's side of owner-protocol.js: finds the processes that may have a mailbox open, and asks them.
 */
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { errorCodeOf } from '../database/sqlite-error.js'
import { isSocketName, onJsonLine, writeJsonLine } from './owner-protocol.js'

/**
 * @typedef {import('./owner-protocol.js').OwnerQuestion} OwnerQuestion
 * @typedef {import('./owner-protocol.js').OwnerAnswer} OwnerAnswer
 */

/** How long an answer may take, ms: a freeze waits up to 10 s for a quiet moment, a close for sessions to end. */
const ANSWER_MS = 60_000

/** A process that lives says so at once. One that says nothing for so many ms hangs, or somebody has stopped it. */
const SIGN_MS = 5_000

/** A process that was silent before is given only so many ms: it is asked again for each mailbox of the host. */
const SIGN_AGAIN_MS = 200

/** @type {Set<string>} sockets of processes that were silent the last time */
const silent = new Set()

/** One process, connected. A connection that ends answers `broken` from then on. */
export class Owner {
  #socket
  /** @type {((answer: OwnerAnswer) => void) | null} */
  #waiting = null
  #isGone = false
  /** @type {Promise<unknown>} */
  #last = Promise.resolve()

  /** @param {import('node:net').Socket} socket - connected */
  constructor(socket) {
    this.#socket = socket
    socket.unref()
    onJsonLine(socket, ({ state }) => this.#settle(state))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#isGone = true
      this.#settle('broken')
    })
  }

  /**
   * @param {OwnerQuestion} question - goes out after the answer to the one before
   * @param {number} [timeoutMs] - for the answer
   * @returns {Promise<OwnerAnswer>} `broken` where the process is gone or silent
   */
  ask(question, timeoutMs = ANSWER_MS) {
    const answer = this.#last.then(() => this.#askNow(question, timeoutMs))
    this.#last = answer
    return answer
  }

  /**
   * @param {OwnerQuestion} question
   * @param {number} timeoutMs
   * @returns {Promise<OwnerAnswer>}
   */
  async #askNow(question, timeoutMs) {
    if (this.#isGone) return 'broken'
    this.#socket.ref()
    const timer = setTimeout(() => this.#socket.destroy(), timeoutMs)
    try {
      return await new Promise((resolve) => {
        this.#waiting = resolve
        writeJsonLine(this.#socket, question)
      })
    } finally {
      clearTimeout(timer)
      this.#socket.unref()
    }
  }

  /** Ends the connection, and with it every freeze. */
  close() {
    this.#socket.destroy()
  }

  /** @param {OwnerAnswer} answer */
  #settle(answer) {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.(answer)
  }
}

/**
 * Connects to every process that listens and lives. The socket of a killed one is removed. The mailboxes that a hanging one
 * has open stay locked; for all other mailboxes, nobody waits for it.
 *
 * @param {string} runFolder - `<data>/run`
 * @returns {Promise<Owner[]>} the caller closes each
 * @throws what connecting to one of them failed with, unless that process is gone: then asking the others tells nothing, because
 *   that one may have the mailbox open
 */
export async function connectOwners(runFolder) {
  const names = await readdir(runFolder).catch((error) => {
    if (errorCodeOf(error) === 'ENOENT') return []
    throw error
  })
  const tries = await Promise.allSettled(
    names.filter(isSocketName).map((name) => connectOne(join(runFolder, name)))
  )
  const owners = tries
    .map((attempt) => (attempt.status === 'fulfilled' ? attempt.value : null))
    .filter((owner) => owner !== null)
  const failed = tries.find((attempt) => attempt.status === 'rejected')
  if (failed === undefined) return owners
  for (const owner of owners) owner.close()
  throw failed.reason
}

/**
 * @param {string} path
 * @returns {Promise<Owner | null>} null where nobody listens there any more, or nobody answers
 */
async function connectOne(path) {
  const socket = createConnection(path)
  try {
    await once(socket, 'connect')
    return await unlessSilent(path, new Owner(socket))
  } catch (error) {
    socket.destroy()
    const code = errorCodeOf(error)
    if (code === 'ECONNREFUSED') await rm(path, { force: true })
    // ECONNRESET: the process has ended while it was asked.
    if (code === 'ECONNREFUSED' || code === 'ENOENT' || code === 'ECONNRESET') return null
    throw error
  }
}

/**
 * @param {string} path
 * @param {Owner} owner
 * @returns {Promise<Owner | null>}
 */
async function unlessSilent(path, owner) {
  const timeoutMs = silent.has(path) ? SIGN_AGAIN_MS : SIGN_MS
  // A process of an earlier release does not know the question, and says so: that is an answer, too.
  const answer = await owner.ask({ op: 'ping' }, timeoutMs)
  if (answer === 'broken') silent.add(path)
  else silent.delete(path)
  return answer === 'broken' ? null : owner
}
