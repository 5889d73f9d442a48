/**
 * The authentication socket of the mail transfer agent: who sends mail proves who they are with the same credentials
 * that open their mailbox, counted by the same throttle, in the same audit log. No mailbox is opened, and the key that a
 * right credential yields is dropped at once.
 *
 * Workers share the socket: each takes connections, and an agent's process stays with the worker that took it.
 */
import { createServer } from 'node:net'
import { MailError } from '../errors.js'
import {
  groupNumber,
  removeStaleSocket,
  requireFolderOf,
  setSocketAccess
} from '../support/unix-socket.js'
import { AuthConnection } from './auth-connection.js'

/** The service that is logged where a client names none, or one that is not allowed. */
const USUAL_SERVICE = 'smtp'
const SERVICE = /^[a-z][a-z0-9-]{0,31}$/

/**
 * @typedef {object} AuthServer
 * @property {() => Promise<void>} listen - on `sasl.socket`; throws CONFIG_INVALID
 * @property {() => Promise<void>} close - requests that run are answered, for `shutdown.graceMs` at most
 */

/**
 * @param {object} options
 * @param {{ sasl: { socket: string, mode: string, group: string, maxConnections: number }, shutdown: { graceMs: number } }} options.config
 * @param {Pick<import('../accounts/unlock.js').Unlocker, 'unlock'>} options.unlocker
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @returns {AuthServer}
 */
export function createAuthServer({ config, unlocker, logger }) {
  const { sasl, shutdown } = config
  /** @type {Set<AuthConnection>} */
  const connections = new Set()
  let number = 0

  /** @type {import('./auth-connection.js').AuthContext['check']} */
  const check = async ({ service, ...attempt }) => {
    const { account, scope, masterKey } = await unlocker.unlock({
      ...attempt,
      service: SERVICE.test(service) ? service : USUAL_SERVICE
    })
    masterKey.dispose()
    return { address: account.address, scope }
  }

  const server = createServer((socket) => {
    if (connections.size >= sasl.maxConnections) {
      logger.warn({ connections: connections.size }, 'too many authentication clients')
      socket.destroy()
      return
    }
    const connection = new AuthConnection(socket, { check, logger, number: ++number })
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
  })

  return {
    async listen() {
      const group = await groupNumber(sasl.group)
      await requireFolderOf('sasl.socket', sasl.socket)
      await removeStaleSocket(sasl.socket)
      try {
        await new Promise((resolve, reject) => {
          server.once('error', reject)
          server.listen({ path: sasl.socket }, () => {
            server.off('error', reject)
            resolve(undefined)
          })
        })
        await setSocketAccess(sasl.socket, { mode: parseInt(sasl.mode, 8), group })
      } catch (cause) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
        throw new MailError('CONFIG_INVALID', {
          detail: `sasl.socket cannot listen on ${sasl.socket}: ${code ?? 'unknown'}`,
          cause
        })
      }
      server.on('error', (err) => logger.error({ err }, 'the authentication socket failed'))
    },
    close: () =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const connection of connections) connection.destroy()
        }, shutdown.graceMs)
        server.close(() => {
          clearTimeout(timer)
          resolve()
        })
        for (const connection of connections) connection.end()
      })
  }
}
