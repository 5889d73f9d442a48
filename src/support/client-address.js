/**
 * Whose connection it is, as it was when it was made. A socket that its client has reset tells no address any more, but what
 * the client has asked for before is done all the same: it counts for the throttle, and stands in the audit log.
 */

/** @import { Server } from 'node:http' */
/** @import { Socket } from 'node:net' */

/** @type {WeakMap<Socket, string | null>} */
const noted = new WeakMap()

/**
 * To be called before the first connection comes in.
 *
 * @param {Server} server - also of node:https
 * @param {object} options
 * @param {boolean} options.isTls
 * @param {(socket: Socket) => string | undefined} [options.addressOf] - undefined where the client has gone already: nothing
 *   that it has sent is looked at
 */
export function noteClients(server, { isTls, addressOf = (socket) => socket.remoteAddress }) {
  // Before the server's own listener, which reads requests.
  server.prependListener(
    isTls ? 'secureConnection' : 'connection',
    (/** @type {Socket} */ socket) => {
      const address = addressOf(socket)
      const isUnixSocket = typeof server.address() === 'string'
      if (address === undefined && !isUnixSocket) socket.destroy()
      else noted.set(socket, address ?? null)
    }
  )
}

/**
 * @param {Socket} socket - of a request
 * @returns {string | null} null on a unix socket
 */
export function clientOf(socket) {
  const address = noted.get(socket)
  return address === undefined ? (socket.remoteAddress ?? null) : address
}
