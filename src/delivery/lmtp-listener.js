/**
 * smtp-server with what LMTP and a clean shutdown need beyond it:
 * - replies of ours carry their own enhanced status code (smtp-server derives one from the reply code, so
 *   a full disk and a full mailbox, both 452, would say the same);
 * - addresses may have a quoted local part (smtp-server refuses what in it is special without quotes);
 * - `closeIdle` ends connections that have no message in transfer.
 */

import { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { hasEnhancedStatus } from './lmtp-reply.js'

/** A path whose local part is a quoted string (RFC 5321 §4.1.2), perhaps behind a source route, in its line. */
const QUOTED_LOCAL_PART = /^([^"<]*<(?:@[^"<>\s]*:)?)("(?:[^"\\\p{C}]|\\[ -~])+")(@[^<>"\s]+>.*)$/su

/** Stands where the quoted string was while smtp-server reads the line. */
const STAND_IN = 'quoted'

/** Longest address, characters: RFC 5321 §4.5.3.1.3 asks for 254, and forwarders wrap one in another. */
const MAX_ADDRESS = 1000

/** One client. */
class LmtpConnection extends SMTPConnection {
  /**
   * @override
   * @param {string} name - of the command
   * @param {any} command - the line
   * @returns {any} false for what has no address
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
    return super.send(code, data, hasEnhancedStatus(data) ? false : context)
  }
}

/** The listening side. */
export class LmtpListener extends SMTPServer {
  /**
   * Where connections come through a load balancer that says whose they are.
   *
   * @type {import('../support/proxy-header.js').ProxyTrust | null}
   */
  proxy = null

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
    const connection = new LmtpConnection(this, socket, socketOptions)
    this.connections.add(connection)
    connection.on('error', (error) => this.emit('error', error))
    connection.on('connect', (client) => this.emit('connect', client))
    connection.init()
  }

  /**
   * @param {(sessionId: string) => boolean} isBusy
   */
  closeIdle(isBusy) {
    for (const connection of [...this.connections]) {
      if (!isBusy(connection.id)) connection.send(421, 'Server shutting down')
    }
  }
}
