/**
 * One client of the authentication socket: a process of the mail transfer agent, which keeps the connection for as long
 * as it lives and numbers its requests. They are answered as they finish, in any order.
 *
 * A line that is none of the protocol ends the connection: the agent opens another and asks again.
 */
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { ERROR_TABLE, MailError, isMailError } from '../errors.js'
import { isLoopback } from '../support/loopback.js'
import { formatLine, parseRequest } from './auth-line.js'
import { MECHANISM_NAMES, startDialogue } from './mechanisms.js'

/** @import { Socket } from 'node:net' */
/** @import { AuthRequest } from './auth-line.js' */
/** @import { Credentials, Dialogue, Step } from './mechanisms.js' */

const LF = 0x0a
/** Major and minor version of the protocol; another major version would be another protocol. */
const VERSION = Object.freeze([1, 2])
/** The longest line, bytes: an IMAP client's line before login, in base64, with its parameters. */
const MAX_LINE_BYTES = 16 * 1024
/** At most so many requests of one connection are checked at once; with as many, nothing more is read from its socket. */
const MAX_RUNNING = 64
/** At most so many dialogues of one connection wait for the client; Postfix forgets those whose client has gone, so do we. */
const MAX_DIALOGUES = 64
/** A client may leave at most so many bytes of replies unread. */
const MAX_UNREAD_BYTES = 256 * 1024
/** An answer comes within so long, ms: after 10 s Postfix gives up, and its client would have waited for nothing. */
const ANSWER_MS = 8_000

/**
 * @typedef {object} SaslLogin
 * @property {string} address - primary, of the account
 * @property {'read-write' | 'read-only'} scope - of the credential
 *
 * @typedef {object} AuthContext - what a connection may use of its server
 * @property {(attempt: { username: string, password: Buffer, remoteAddress: string, service: string,
 *   asker: { isClosed: boolean, closeSignal: AbortSignal } }) => Promise<SaslLogin>} check - throws a MailError; the caller zeroes
 *   the password; `asker` says when nobody wants the answer any more
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {number} number - of the connection, in this process
 *
 * @typedef {object} Asked - what an AUTH line said
 * @property {Dialogue} dialogue
 * @property {string} remoteAddress
 * @property {string} service
 */

/** Speaks the protocol with one client. */
export class AuthConnection {
  #socket
  #context
  /** @type {Buffer} bytes that are no whole line yet, or wait until requests have finished */
  #waiting = Buffer.alloc(0)
  /** @type {Map<number, Asked>} by request */
  #dialogues = new Map()
  /**
   * Requests that are being checked and have no answer yet: after it, the agent may use an id again.
   *
   * @type {Map<number, AbortController>}
   */
  #running = new Map()
  #checks = 0
  #hasVersion = false
  #isEnding = false

  /**
   * @param {Socket} socket
   * @param {AuthContext} context
   */
  constructor(socket, context) {
    this.#socket = socket
    this.#context = context
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#forget())
    const handshake = [
      formatLine('VERSION', ...VERSION),
      ...MECHANISM_NAMES.map((name) => formatLine('MECH', name, 'plaintext')),
      formatLine('SPID', process.pid),
      formatLine('CUID', context.number),
      formatLine('COOKIE', randomBytes(16).toString('hex')),
      formatLine('DONE')
    ]
    socket.write(handshake.join(''))
  }

  /** Takes no more requests; the connection ends when those that run have their answers. */
  end() {
    this.#isEnding = true
    this.#socket.pause()
    if (this.#running.size === 0) this.#socket.destroySoon()
  }

  /** Ends at once. */
  destroy() {
    this.#socket.destroy()
  }

  /** @param {Buffer} chunk */
  #take(chunk) {
    const before = this.#waiting
    this.#waiting = Buffer.concat([before, chunk])
    // Both held what may be a password.
    before.fill(0)
    chunk.fill(0)
    this.#proceed()
  }

  /** Takes lines until there is none, or enough to do. */
  #proceed() {
    while (!this.#isEnding && !this.#socket.destroyed) {
      if (this.#checks >= MAX_RUNNING) {
        this.#socket.pause()
        return
      }
      const at = this.#waiting.indexOf(LF)
      if (at < 0 ? this.#waiting.length > MAX_LINE_BYTES : at > MAX_LINE_BYTES) {
        this.#refuse('a line is too long')
        return
      }
      if (at < 0) break
      const line = this.#waiting.subarray(0, at)
      this.#waiting = this.#waiting.subarray(at + 1)
      try {
        this.#handle(parseRequest(line))
      } finally {
        line.fill(0)
      }
    }
    if (!this.#isEnding) this.#socket.resume()
  }

  /** @param {string} why */
  #refuse(why) {
    this.#context.logger.warn({ why }, 'an authentication client was turned away')
    this.#socket.destroy()
  }

  /** @param {AuthRequest | null} request */
  #handle(request) {
    if (request === null) return this.#refuse('that is no line of the protocol')
    if (!this.#hasVersion) {
      if (request.command !== 'VERSION') return this.#refuse('it did not begin with VERSION')
      if (request.major !== VERSION[0]) return this.#refuse('it speaks another version')
      this.#hasVersion = true
      return
    }
    switch (request.command) {
      case 'AUTH':
        return this.#begin(request)
      case 'CONT':
        return this.#continue(request)
      case 'CANCEL':
        this.#dialogues.delete(request.id)
        this.#leave(request.id)
    }
  }

  /** @param {Extract<AuthRequest, { command: 'AUTH' }>} request */
  #begin({ id, mechanism, parameters, response }) {
    if (this.#running.has(id) || this.#dialogues.has(id)) return this.#refuse('an id is taken')
    const dialogue = startDialogue(mechanism)
    if (dialogue === null) return this.#write(failure(id, new MailError('MECHANISM_UNKNOWN')))
    const told = parameters.get('rip') ?? ''
    // Requests without an address are counted together: they must not escape the throttle.
    const remoteAddress = isIP(told) === 0 ? 'unknown' : told
    if (!parameters.has('secured') && !isLoopback(remoteAddress)) {
      return this.#write(failure(id, new MailError('TLS_REQUIRED')))
    }
    const service = parameters.get('service') ?? ''
    this.#step(id, { dialogue, remoteAddress, service }, () =>
      response === null ? dialogue.begin() : dialogue.answer(response)
    )
  }

  /** @param {Extract<AuthRequest, { command: 'CONT' }>} request */
  #continue({ id, response }) {
    const asked = this.#dialogues.get(id)
    this.#dialogues.delete(id)
    if (asked === undefined) return this.#write(failure(id, WRONG))
    this.#step(id, asked, () => asked.dialogue.answer(response))
  }

  /**
   * @param {number} id
   * @param {Asked} asked
   * @param {() => Step} take
   */
  #step(id, asked, take) {
    /** @type {Step} */
    let step
    try {
      step = take()
    } catch {
      // Refused without a derivation: what was presented cannot be right.
      this.#write(failure(id, WRONG))
      return
    }
    if ('credentials' in step) {
      this.#check(id, asked, step.credentials)
      return
    }
    const [oldest] = this.#dialogues.keys()
    if (this.#dialogues.size >= MAX_DIALOGUES && oldest !== undefined) {
      this.#dialogues.delete(oldest)
    }
    this.#dialogues.set(id, asked)
    this.#write(formatLine('CONT', id, Buffer.from(step.challenge).toString('base64')))
  }

  /**
   * @param {number} id
   * @param {Asked} asked
   * @param {Credentials} credentials - the password is zeroed
   */
  async #check(id, { remoteAddress, service }, { username, password }) {
    const { check, logger } = this.#context
    const running = new AbortController()
    const asker = {
      get isClosed() {
        return running.signal.aborted
      },
      closeSignal: running.signal
    }
    this.#running.set(id, running)
    this.#checks++
    const answer = (/** @type {string} */ line) => {
      // Cancelled meanwhile, or answered already because its time was over.
      if (this.#running.get(id) !== running) return
      this.#running.delete(id)
      this.#write(line)
      if (this.#isEnding && this.#running.size === 0) this.#socket.destroySoon()
    }
    const timer = setTimeout(() => {
      answer(failure(id, new MailError('THROTTLED')))
      running.abort(NOT_WANTED)
    }, ANSWER_MS)
    try {
      const { address, scope } = await check({ username, password, remoteAddress, service, asker })
      answer(
        scope === 'read-only'
          ? failure(id, new MailError('NO_PERMISSION'))
          : formatLine('OK', id, `user=${address}`)
      )
    } catch (error) {
      if (!(error instanceof MailError)) logger.error({ err: error }, 'an authentication failed')
      answer(failure(id, error))
    } finally {
      clearTimeout(timer)
      password.fill(0)
      this.#checks--
      this.#proceed()
    }
  }

  /** @param {string} line */
  #write(line) {
    if (this.#socket.destroyed) return
    this.#socket.write(line)
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#refuse('it does not read its answers')
  }

  /** @param {number} id - of a request whose answer nobody wants any more: it must not take a derivation from others */
  #leave(id) {
    const running = this.#running.get(id)
    this.#running.delete(id)
    running?.abort(NOT_WANTED)
  }

  #forget() {
    this.#waiting.fill(0)
    this.#waiting = Buffer.alloc(0)
    this.#dialogues.clear()
    for (const id of this.#running.keys()) this.#leave(id)
  }
}

const WRONG = new MailError('AUTHENTICATION_FAILED')
const NOT_WANTED = new MailError('THROTTLED', { detail: 'nobody waits for the answer' })

/** Failures that are the client's own doing: to repeat the request would end the same. */
const FINAL = Object.freeze(
  /** @type {const} */ (['ACCOUNT_DISABLED', 'MECHANISM_UNKNOWN', 'NO_PERMISSION', 'TLS_REQUIRED'])
)

/**
 * Makes a FAIL line. The agent passes its reason on to the client, who may be anybody until a password was right.
 *
 * @param {number} id
 * @param {unknown} error
 * @returns {string} the line, with `temp` where neither the credential nor the client is at fault
 */
function failure(id, error) {
  if (isMailError(error, 'AUTHENTICATION_FAILED')) return formatLine('FAIL', id)
  const text = error instanceof MailError ? ERROR_TABLE[error.code].text : 'Try again later'
  const reason = `reason=${text}`
  if (isMailError(error, 'ACCOUNT_DISABLED')) {
    return formatLine('FAIL', id, 'user_disabled', reason)
  }
  const isFinal = FINAL.some((code) => isMailError(error, code))
  return formatLine('FAIL', id, reason, ...(isFinal ? [] : ['temp', 'code=temp_fail']))
}
