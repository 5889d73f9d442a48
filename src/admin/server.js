/**
 * The operator's HTTP endpoint: health for now. It has no authentication, so it listens on loopback by default, and of
 * accounts it names at most the random ids of those that need an operator.
 */
import { fastify } from 'fastify'

/**
 * @typedef {object} Health
 * @property {boolean} isReady - all listeners are up and none is closing
 * @property {Record<string, number>} counts - plain numbers: sessions, open mailboxes
 *
 * @typedef {object} MaintenanceHealth
 * @property {import('../accounts/directory-port.js').MaintenanceFailure[]} failing - jobs that failed last time
 * @property {number} failingTotal - of these, also those that are not listed
 * @property {number} maintenanceRunning - and the other figures of the worker
 */

/**
 * @typedef {object} AdminServer
 * @property {(address: { host: string, port: number }) => Promise<{ host: string, port: number }>} listen
 * @property {() => Promise<void>} close
 */

/**
 * @param {object} options
 * @param {() => Health} options.health
 * @param {() => Promise<MaintenanceHealth>} options.maintenance
 * @returns {AdminServer}
 */
export function createAdminServer({ health, maintenance }) {
  // forceCloseConnections: a monitor's keep-alive connection must not hold up the shutdown.
  const app = fastify({ logger: false, forceCloseConnections: true, bodyLimit: 64 * 1024 })

  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
  })
  app.get('/health/live', async () => ({ status: 'ok' }))
  app.get('/health/ready', async (_request, reply) => {
    const { isReady, counts } = health()
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ok' : 'fail', ...counts })
  })

  app.get('/health/maintenance', async (_request, reply) => {
    const { failing, ...figures } = await maintenance()
    const isGood = failing.length === 0
    return reply
      .code(isGood ? 200 : 503)
      .send({ status: isGood ? 'ok' : 'fail', ...figures, failing })
  })

  return {
    async listen({ host, port }) {
      await app.listen({ host, port })
      const address = app.server.address()
      return typeof address === 'object' && address !== null
        ? { host: address.address, port: address.port }
        : { host, port }
    },
    close: () => app.close()
  }
}
