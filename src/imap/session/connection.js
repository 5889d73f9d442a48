/**
 * One client's socket, plain or TLS: bytes in through client-input.js and the receiver, replies out through reply-output.js.
 *
 * Back-pressure works both ways. Bytes are taken from the socket only when the session asks for its next
 * event, so while a command runs the client is held back by TCP; and whoever writes much awaits `drain`. Where thousands
 * of commands came in one packet, only some are given in one turn of the event loop, so that other clients get theirs.
 *
 * The object keeps no timer of its own (an idle connection must stay small): the listener calls `tick`.
 */
import { TLSSocket } from 'node:tls'
import { randomBytes } from 'node:crypto'
import { Slicer } from '../../support/slicer.js'
import { isTurnSpent, nextTurn } from '../../support/turns.js'
import { ClientInput, INPUT_BYTES } from './client-input.js'
import { Pause } from './pause.js'
import { ReplyOutput } from './reply-output.js'

/** @import { Socket } from 'node:net' */
/** @import { TlsContext } from './tls-context.js' */
/** @import { Receiver } from '../protocol/receiver.js' */
/** @import { Pace } from './allowance.js' */

/** A client that takes no byte of its answer for so many ms is gone, whatever TCP believes. */
const WRITE_STALL_MS = 5 * 60_000
/** After our FIN, the client may take so many ms to close; unread input is discarded meanwhile. */
const LINGER_MS = 5000
/** TCP keep-alive probes start after so many ms of silence: below the 5 minutes after which many routers forget a flow. */
const KEEP_ALIVE_MS = 120_000

/**
 * @typedef {import('../protocol/receiver.js').ReceiverEvent
 *   | { kind: 'closed' } | { kind: 'timeout' } | { kind: 'wake' }} ConnectionEvent
 */

const CLOSED = Object.freeze({ kind: /** @type {const} */ ('closed') })
const TIMEOUT = Object.freeze({ kind: /** @type {const} */ ('timeout') })
const WAKE = Object.freeze({ kind: /** @type {const} */ ('wake') })

/** Thrown by `drain` when the client has gone; it ends the command and the session, and is no failure. */
export class ConnectionClosed extends Error {
  /** Takes no arguments: it is always thrown for the same reason. */
  constructor() {
    super('The client closed the connection')
    this.name = 'ConnectionClosed'
  }
}

/** A client's connection. */
export class Connection {
  /** @type {Socket} */
  #socket
  /** @type {Receiver} */
  #receiver
  /** @type {ClientInput} */
  #input
  /** @type {ReplyOutput} */
  #output
  /** The pause in which `nextEvent` waits for the client. */
  #reading = new Pause()
  /** The pause in which `drain` waits until the client takes more. */
  #writing = new Pause()
  /** Counts the events that are given without waiting for the client, so that other clients get their turns. */
  #slicer = new Slicer()
  #isWoken = false
  #isClosed = false
  #isEnding = false
  #isDetached = false
  #isHandshaking = false
  #nowMs = 0
  /** When a client that was told goodbye is cut off. */
  #lingerDeadlineMs = Infinity
  /** @type {AbortController | null} */
  #closing = null
  /** How many waits for the pace there are. */
  #paced = 0
  /** Whether the next command is not read because too much was asked for. */
  isHeldBack = false
  /**
   * What the session's commands and bytes are counted against; null where nothing is limited.
   *
   * @type {Pace | null}
   */
  pace = null
  /** How often bytes of the client were taken: commands that came together have seen the same number. */
  inputCount = 0
  /** @type {Promise<void>} */
  closed
  /** @type {() => void} */
  #resolveClosed = () => {}

  /**
   * @param {object} options
   * @param {Socket} options.socket - connected, nothing read from it yet
   * @param {Receiver} options.receiver
   * @param {number} options.nowMs
   * @param {string} [options.id] - where another worker has named it
   * @param {string} [options.remoteAddress] - the client's, where the socket comes from a proxy or another worker
   * @param {boolean} [options.isTls] - whether TLS ends in another worker
   */
  constructor({
    socket,
    receiver,
    nowMs,
    id = randomBytes(6).toString('base64url'),
    remoteAddress = socket.remoteAddress ?? '',
    isTls = false
  }) {
    this.id = id
    this.#socket = socket
    this.#input = this.#inputOf(socket, isTls)
    this.#output = this.#outputTo(socket)
    this.#receiver = receiver
    this.#nowMs = nowMs
    this.remoteAddress = remoteAddress
    this.isTls = isTls
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    this.#listen()
  }

  /** @returns {Receiver} */
  get receiver() {
    return this.#receiver
  }

  /** @returns {boolean} whether nothing more can be written */
  get isClosed() {
    return this.#isClosed || this.#isEnding || this.#isDetached
  }

  /** @returns {AbortSignal} that aborts when the client has gone, for work that can be cut short */
  get closeSignal() {
    this.#closing ??= new AbortController()
    if (this.#isClosed) this.#closing.abort(new ConnectionClosed())
    return this.#closing.signal
  }

  /** @returns {boolean} whether whoever has more to write is to await `drain` */
  get isCongested() {
    return this.hasUnsent || this.pace?.mustWait === true
  }

  /** @returns {boolean} whether replies wait for the client to read */
  get hasUnsent() {
    return this.#output.hasUnsent
  }

  /** @returns {boolean} whether the client has closed its side: it may still read, or be gone */
  get isHalfClosed() {
    return this.#input.isHalfClosed
  }

  /** @returns {boolean} whether COMPRESS has been given */
  get isCompressed() {
    return this.#output.isCompressed
  }

  /**
   * @param {Socket} socket
   * @param {boolean} isTls
   * @returns {ClientInput}
   */
  #inputOf(socket, isTls) {
    return new ClientInput(socket, { isTls, onReadable: () => this.#reading.end() })
  }

  /**
   * @param {Socket} socket
   * @returns {ReplyOutput}
   */
  #outputTo(socket) {
    return new ReplyOutput(socket, (bytes) => this.pace?.noteBytes(bytes))
  }

  #listen() {
    const socket = this.#socket
    socket.on('drain', () => this.#writing.end())
    // 'close' always follows an error; why a client's network failed is of no use to anybody here.
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket !== this.#socket) return
      this.#isClosed = true
      this.#output.stop()
      this.#input.stop()
      // A session drops the pace at its end, but none has run where the connection was refused or its handshake failed.
      this.dropPace()
      this.#reading.end()
      this.#writing.end()
      this.#closing?.abort(new ConnectionClosed())
      this.#resolveClosed()
    })
  }

  /**
   * The next thing the client says. Commands that arrived before a half-close are still given.
   *
   * @param {object} options
   * @param {number} options.deadlineMs - of the steady clock after which the answer is a timeout
   * @param {boolean} [options.isWakeable] - whether `wake` may interrupt the wait
   * @returns {Promise<ConnectionEvent>}
   */
  async nextEvent({ deadlineMs, isWakeable = false }) {
    for (;;) {
      if (this.#slicer.isSpent) await this.#slicer.breathe()
      if (this.isClosed) return CLOSED
      if (isWakeable && this.#isWoken) {
        this.#isWoken = false
        return WAKE
      }
      if (this.pace?.mustWait === true) {
        if (this.#nowMs > deadlineMs) return TIMEOUT
        this.isHeldBack = isWakeable
        await this.#waitForPace(this.#reading)
        this.isHeldBack = false
        continue
      }
      const event = this.#receiver.read()
      if (event !== null) return event
      const chunk = this.#input.read(this.#nowMs)
      if (chunk !== null) {
        this.inputCount++
        this.pace?.noteBytes(chunk.length)
        this.#receiver.push(chunk)
        continue
      }
      if (this.#input.hasEnded) return CLOSED
      if (this.#nowMs > deadlineMs) return TIMEOUT
      await this.#reading.until(deadlineMs)
      if (isTurnSpent()) await nextTurn()
      this.#slicer.begin()
    }
  }

  /** Nothing is counted any longer. */
  dropPace() {
    this.pace?.release()
    this.pace = null
  }

  /** Makes a wakeable wait return; without one, the next such wait returns at once. Ends a TLS handshake. */
  wake() {
    this.#isWoken = true
    if (this.#isHandshaking) this.destroy()
    this.#reading.end()
  }

  /**
   * Queues bytes for the client. Does nothing once the client has gone.
   *
   * @param {Buffer | string} piece - not to be changed afterwards; a string is sent as UTF-8
   */
  write(piece) {
    this.#output.write(piece)
  }

  /**
   * As `write`, for bytes whose memory the caller uses again at once.
   *
   * @param {Buffer} bytes
   */
  writeCopied(bytes) {
    this.#output.writeCopied(bytes)
  }

  /**
   * Queues bytes that nobody else uses, and gives their memory back as soon as they are sent.
   *
   * @param {Buffer} piece - with the memory that it lies in
   */
  writeOwned(piece) {
    this.#output.writeOwned(piece)
  }

  /** Sends everything that is queued. */
  flush() {
    this.#output.flush()
  }

  /**
   * Gives the memory of received bytes back at once.
   *
   * @param {Buffer} chunk - of a message, used up
   */
  releaseInput(chunk) {
    this.#input.release(chunk)
  }

  /**
   * Waits until the socket wants more bytes.
   *
   * @throws {ConnectionClosed} when the client has gone
   */
  async drain() {
    this.flush()
    while (!this.isClosed && this.#output.mustWait) {
      await this.#writing.until(this.#nowMs + WRITE_STALL_MS)
      if (isTurnSpent()) await nextTurn()
    }
    while (!this.isClosed && this.pace?.mustWait === true) await this.#waitForPace(this.#writing)
    if (this.isClosed) throw new ConnectionClosed()
  }

  /**
   * Waits until the next tick, or until something else has happened: the caller looks again.
   *
   * @param {Pause} pause
   */
  async #waitForPace(pause) {
    this.#paced++
    await pause.until()
    this.#paced--
  }

  /**
   * Passes the time on to the deadlines; called every second or so.
   *
   * @param {number} nowMs
   */
  tick(nowMs) {
    this.#nowMs = nowMs
    if (this.#receiver.bufferedBytes === 0 && !this.#receiver.isInCommand) this.#input.rest(nowMs)
    if (this.#paced > 0) {
      this.#reading.end()
      this.#writing.end()
    }
    if (nowMs > Math.min(this.#writing.deadlineMs, this.#lingerDeadlineMs)) this.destroy()
    else if (nowMs > this.#reading.deadlineMs) {
      if (this.#isHandshaking) this.destroy()
      this.#reading.end()
    }
  }

  /**
   * Completes the TLS handshake on a socket whose client speaks first.
   *
   * @param {object} options
   * @param {TlsContext} options.tls
   * @param {number} options.deadlineMs - of the steady clock
   * @returns {Promise<boolean>} whether it succeeded; on failure the socket is closed
   */
  async secure({ tls, deadlineMs }) {
    const plain = this.#socket
    this.#input.stop()
    // An end of the input that was read before would never be reported to TLS.
    if (plain.readableEnded) {
      this.destroy()
      return false
    }
    // The types do not know that a TLS socket may be half-open too; Node's do (tls.TLSSocket hands it to net.Socket).
    const options = {
      ...tls,
      isServer: true,
      allowHalfOpen: true,
      highWaterMark: INPUT_BYTES
    }
    const socket = new TLSSocket(plain, options)
    this.#socket = socket
    this.#input = this.#inputOf(socket, true)
    this.#output = this.#outputTo(socket)
    this.#listen()
    this.#isHandshaking = true
    socket.once('secure', () => {
      this.#isHandshaking = false
      this.#reading.end()
    })
    while (this.#isHandshaking && !this.#isClosed) {
      await this.#reading.until(deadlineMs)
      // Nothing can be read before the handshake is through, but Node tells only a reader that the input has ended.
      if (this.#isHandshaking) this.#input.read(this.#nowMs)
      if (this.#isHandshaking && this.#input.hasEnded) this.destroy()
    }
    this.#isHandshaking = false
    this.isTls = !this.#isClosed
    return this.isTls
  }

  /**
   * Answers STARTTLS and upgrades (RFC 3501 §6.2.1). What the client sent in the clear behind its STARTTLS is
   * thrown away before the answer: it may be somebody else's, injected to be obeyed inside the TLS session.
   *
   * @param {object} options
   * @param {Buffer} options.reply - the tagged OK
   * @param {TlsContext} options.tls
   * @param {number} options.deadlineMs - of the steady clock until which the handshake must be through
   * @returns {Promise<boolean>} whether the handshake succeeded
   */
  async startTls({ reply, tls, deadlineMs }) {
    const socket = this.#socket
    this.#receiver.takeRest()
    this.#input.discard()
    this.#input.stop()
    this.flush()
    await new Promise((resolve) => {
      socket.once('close', resolve)
      socket.write(reply, resolve)
    })
    if (this.isClosed) return false
    return await this.secure({ tls, deadlineMs })
  }

  /**
   * Answers COMPRESS (RFC 4978 §3): everything after the answer is deflated, in both directions, and so is what the
   * client has sent already.
   *
   * @param {Buffer} reply - the tagged OK
   */
  compress(reply) {
    this.flush()
    this.#socket.write(reply)
    this.#output.compress((error) => {
      if (error !== null) this.destroy()
      this.#writing.end()
      if (this.#isEnding) this.#finishEnd()
    })
    this.#input.inflate(this.#receiver.takeRest())
  }

  /**
   * Sends what is queued and gives the socket away; from then on this object only knows when it closes.
   *
   * @returns {{ socket: Socket, rest: Buffer }} `rest` is what the client has sent behind its last command
   */
  detach() {
    this.flush()
    this.#output.stop()
    const socket = this.#socket
    this.#isDetached = true
    this.#input.stop()
    socket.removeAllListeners('drain')
    return { socket, rest: this.#receiver.takeRest() }
  }

  /** Sends what is queued, then closes; the client has a moment to read it. */
  end() {
    if (this.isClosed) return
    this.flush()
    this.#output.stop()
    this.#isEnding = true
    const socket = this.#socket
    this.#input.stop()
    // Input left unread would turn our FIN into a reset, and the client might never see the BYE.
    socket.resume()
    // Until our FIN is on its way, the client may still be reading what was queued, which may take longer than LINGER_MS.
    this.#lingerDeadlineMs = this.#nowMs + WRITE_STALL_MS
    socket.once('finish', () => {
      this.#lingerDeadlineMs = this.#nowMs + LINGER_MS
    })
    this.#finishEnd()
    this.#reading.end()
    this.#writing.end()
  }

  /** Our FIN goes behind the last byte. */
  #finishEnd() {
    if (this.#output.isDeflated) this.#socket.end()
  }

  /** Closes at once. */
  destroy() {
    this.#socket.destroy()
  }
}
