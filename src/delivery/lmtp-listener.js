/**
 * smtp-server with what LMTP and a clean shutdown need beyond it:
 * - replies of ours carry their own enhanced status code (smtp-server derives one from the reply code, so
 *   a full disk and a full mailbox, both 452, would say the same);
 * - replies of one turn of the event loop go out together;
 * - addresses may have a quoted local part (smtp-server refuses characters in it that would be special without quotes);
 * - a client that has said all and closed its side still gets its replies, without TLS (smtp-server closes at once, and the
 *   client brings a message again that is stored);
 * - `end` lets messages in transfer come to their end, and never refuses one that it stores.
 */

import { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { hasEnhancedStatus } from './lmtp-reply.js'

/** A line with a path whose local part is a quoted string (RFC 5321 §4.1.2), perhaps behind a source route. */
const QUOTED_LOCAL_PART = /^([^"<]*<(?:@[^"<>\s]*:)?)("(?:[^"\\\p{C}]|\\[ -~])+")(@[^<>"\s]+>.*)$/su

/** Stands in for the quoted string while smtp-server reads the line. */
const STAND_IN = 'quoted'

const SHUTTING_DOWN = 'Server shutting down'

/** An address has at most so many characters: RFC 5321 §4.5.3.1.3 asks for 254, and forwarders wrap one in another. */
const MAX_ADDRESS = 1000

/** The connection of one client. */
class LmtpConnection extends SMTPConnection {
  /** @returns {boolean} whether a message is in transfer, or has come and is not answered yet */
  get isBusy() {
    return Boolean(this._dataStream)
  }

  /**
   * @override
   * @returns {ReturnType<SMTPConnection['_createParser']>} the parser of what the client sends
   */
  _createParser() {
    const parser = super._createParser()
    // The client has closed its side, and all that it sent is read and answered now; a message without its end is none.
    parser.once('finish', () => {
      if (this._parser === parser) this.close()
    })
    return parser
  }

  /**
   * @override
   * @param {() => void} callback
   * @param {() => void} [secureCallback]
   */
  upgrade(callback, secureCallback) {
    // With half-open sockets, nobody would notice a client that goes before its handshake is through.
    this._socket.allowHalfOpen = false
    // The client reads this reply without TLS.
    this._socket.uncork()
    if (this._socket.readableEnded) this.close()
    else super.upgrade(callback, secureCallback)
  }

  /**
   * Ends the connection, unless its client waits for the answer to a message that has come in full, and may be stored already.
   *
   * @param {string} why
   */
  cut(why) {
    const message = this._dataStream
    if (message && message.writableEnded) return
    this.send(421, why)
    // The message's end may have been read already: the message would be stored although it was refused.
    if (message) message.destroy()
  }

  /**
   * @override
   * @param {string} name - of the command
   * @param {any} command - the line
   * @returns {any} the address; false where the line has none
   */
  _parseAddressCommand(name, command) {
    const [, before, quoted = '', after] = QUOTED_LOCAL_PART.exec(String(command)) ?? []
    const line = quoted === '' ? command : `${before}${STAND_IN}${after}`
    const parsed = super._parseAddressCommand(name, line)
    if (!parsed) return parsed
    if (quoted !== '') parsed.address = quoted + parsed.address.slice(STAND_IN.length)
    return parsed.address.length <= MAX_ADDRESS && parsed
  }

  /**
   * @override
   * @param {number} code
   * @param {any} data
   * @param {any} [context] - false: no enhanced status code is added
   */
  send(code, data, context) {
    this.#gatherReplies()
    return super.send(code, data, hasEnhancedStatus(data) ? false : context)
  }

  /**
   * Replies to commands that came together go out together (RFC 2920 §3.2), and so do those to one message with many
   * recipients: what is sent waits for what follows from it without waiting for anything else, which are the ticks and
   * microtasks of this turn of the event loop.
   */
  #gatherReplies() {
    const socket = this._socket
    if (!socket || socket.writableCorked > 0) return
    socket.cork()
    queueMicrotask(() => process.nextTick(() => socket.uncork()))
  }
}

/** The listener: its connections, and how they end. */
export class LmtpListener extends SMTPServer {
  /**
   * Set where connections come through a load balancer, which says from which client each is.
   *
   * @type {import('../support/proxy-header.js').ProxyTrust | null}
   */
  proxy = null
  #isEnding = false
  /** Called when no connection is left after transfers were cut: nobody then waits for clients to close their side. */
  #onceCut = () => {}

  /**
   * @override
   * @param {any} socket
   * @param {any} [socketOptions]
   */
  connect(socket, socketOptions) {
    if (this.proxy === null) {
      this.#begin(socket, socketOptions)
      return
    }
    this.proxy.clientOf(socket).then(
      (remoteAddress) => {
        if (remoteAddress === null) socket.destroy()
        else this.#begin(socket, { ...socketOptions, remoteAddress })
      },
      (error) => {
        socket.destroy()
        this.emit('error', error)
      }
    )
  }

  /**
   * @param {any} socket
   * @param {any} socketOptions
   */
  #begin(socket, socketOptions) {
    socket.allowHalfOpen = true
    // smtp-server writes to no socket that is closed on one side.
    Object.defineProperty(socket, 'readyState', {
      get: () => (socket.writable ? 'open' : 'closed')
    })
    const connection = new LmtpConnection(this, socket, socketOptions)
    this.connections.add(connection)
    connection.on('error', (error) => this.emit('error', error))
    connection.on('connect', (client) => this.emit('connect', client))
    connection.init()
  }

  /** @returns {LmtpConnection[]} */
  #clients() {
    return /** @type {LmtpConnection[]} */ ([...this.connections])
  }

  /**
   * @param {import('smtp-server').SMTPServerSession} session - whose message has not come in full: it is refused for now, and its
   *   stream fails
   */
  cut(session) {
    const connection = this.#clients().find((client) => client.session === session)
    connection?.cut('Too slow - closing connection')
  }

  /**
   * Takes no new connections, and ends each of the others as soon as it has no message in transfer.
   *
   * @param {{ graceMs: number }} options - `graceMs`: after so long transfers are cut
   * @returns {Promise<void>} when every connection has had its last answer: without bound for messages that have come in full
   *   by then, because a client whose stored message is refused brings it again
   */
  end({ graceMs }) {
    return new Promise((resolve) => {
      const cut = setTimeout(() => {
        for (const connection of this.#clients()) connection.cut(SHUTTING_DOWN)
        this.#onceCut = resolve
        this.endIdle()
      }, graceMs)
      this.#isEnding = true
      this.close(() => {
        clearTimeout(cut)
        resolve()
      })
      this.endIdle()
    })
  }

  /** To be called whenever a connection may have become idle: does nothing while the listener is open. */
  endIdle() {
    if (!this.#isEnding) return
    for (const connection of this.#clients()) {
      if (!connection.isBusy) connection.send(421, SHUTTING_DOWN)
    }
    if (this.connections.size === 0) this.#onceCut()
  }
}
