/**
 * smtp-server with what LMTP and a clean shutdown need beyond it:
 * - replies of ours carry their own enhanced status code (smtp-server derives one from the reply code, so
 *   a full disk and a full mailbox, both 452, would say the same);
 * - `closeIdle` ends connections that have no message in transfer.
 */

import { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { hasEnhancedStatus } from './lmtp-reply.js'

/** One client. */
class LmtpConnection extends SMTPConnection {
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
