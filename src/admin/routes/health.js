/**
 * /health and /metrics, for monitors. Live and ready say nothing that a stranger could use; the others answer this machine
 * without a token, and everybody else with one.
 */
import { isLocal, openToHost, requireToken } from '../access.js'
import { renderMetrics } from '../metrics.js'
import { CHECK, always, answers, listOf } from '../schemas.js'
import { sharedWork } from '../shared-work.js'

/** @import { FastifyInstance, FastifyRequest } from 'fastify' */
/** @import { AdminParts } from '../server.js' */

/** A new object each time: fastify writes into the schema of each route. */
const hidden = () => ({ hide: true })
/**
 * A worker may take at most so long to answer, ms: a load balancer takes a host out that does not answer within some seconds,
 * and must not do so for one worker that hangs.
 */
const READY_MS = 500
/** @type {import('../access.js').RouteAccess} */
const HOST = { scopes: ['read'], isHostWide: true }

/**
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addHealthRoutes(app, { services, state, isReady }) {
  const { directory, clock } = services
  const onlyFromHere = async (/** @type {FastifyRequest} */ request) => {
    if (!isLocal(request)) await requireToken({ request, access: HOST, services })
  }

  app.get('/health/live', { schema: hidden() }, async () => ({ status: 'ok' }))

  app.get('/health/ready', { schema: hidden() }, async (_request, reply) => {
    const { sums } = await state.snapshot({ timeoutMs: READY_MS })
    const { sessions, mailboxes, pressure, workers, maintenance } = /** @type {any} */ (sums)
    // Where every process turns new sessions away, a load balancer should send them elsewhere.
    const isGood = isReady() && pressure.refusing < workers
    return reply.code(isGood ? 200 : 503).send({
      status: isGood ? 'ok' : 'fail',
      sessions: sessions.loggedIn,
      openMailboxes: mailboxes.open,
      ...maintenance
    })
  })

  app.get(
    '/health/deep',
    { schema: hidden(), onRequest: onlyFromHere },
    async (_request, reply) => {
      const health = await state.deepHealth()
      return reply.code(health.status === 'fail' ? 503 : 200).send(health)
    }
  )

  app.get(
    '/health/maintenance',
    { schema: hidden(), onRequest: onlyFromHere },
    async (_request, reply) => {
      const { failing, failingTotal } = await directory.listMaintenanceFailures()
      const { sums } = await state.snapshot()
      const { maintenance } = /** @type {any} */ (sums)
      const isGood = failing.length === 0
      return reply
        .code(isGood ? 200 : 503)
        .send({ status: isGood ? 'ok' : 'fail', ...maintenance, failingTotal, failing })
    }
  )

  // Shared: this sums up all accounts, and anybody on this machine may ask as often as they like.
  const metrics = sharedWork(async () => {
    const [workers, silentWorkers, backups] = await Promise.all([
      state.workerSnapshots(),
      state.silentWorkers(),
      state.listBackups()
    ])
    return await renderMetrics({
      workers,
      silentWorkers,
      survey: await state.survey(),
      backups,
      certificates: state.certificates(),
      totals: await directory.totals(),
      maintenanceFailing: (await directory.listMaintenanceFailures(1)).failingTotal,
      nowMs: clock.nowMs()
    })
  })
  app.get('/metrics', { schema: hidden(), onRequest: onlyFromHere }, async (_request, reply) => {
    const { contentType, text } = await metrics()
    return reply.type(contentType).send(text)
  })
}

/**
 * The same for the dashboard, below /v1.
 *
 * @param {FastifyInstance} app
 * @param {AdminParts} parts
 */
export function addHostRoutes(app, { state, services, version }) {
  const number = { type: 'number' }

  app.get('/health', {
    config: openToHost('read'),
    schema: {
      operationId: 'getHealth',
      summary: 'The deep health check',
      tags: ['host'],
      response: answers({
        200: listOf('checks', CHECK, {
          status: { type: 'string', enum: ['ok', 'warn', 'fail'] },
          version: { type: 'string' }
        })
      })
    },
    handler: async () => ({ ...(await state.deepHealth()), version })
  })

  app.get('/figures', {
    config: openToHost('read'),
    schema: {
      operationId: 'getFigures',
      summary: 'Totals, and an hour of points for charts',
      tags: ['host'],
      response: answers({
        200: always({
          totals: always({
            accounts: number,
            tenants: number,
            usedBytes: number,
            usedMessages: number,
            fileBytes: number,
            freeBytes: number,
            diskFreeBytes: number,
            diskBytes: number,
            spoolMessages: number,
            spoolBytes: number
          }),
          points: {
            type: 'array',
            items: always({
              atMs: number,
              sessions: number,
              commands: number,
              deliveries: number,
              loginsRefused: number,
              syncs: number,
              eventLoopP99Ms: number,
              rssBytes: number,
              openMailboxes: number
            })
          }
        })
      })
    },
    handler: async () => {
      const survey = await state.survey()
      return {
        totals: {
          ...(await services.directory.totals()),
          diskFreeBytes: survey.freeBytes,
          diskBytes: survey.totalBytes,
          spoolMessages: survey.spoolFiles,
          spoolBytes: survey.spoolBytes
        },
        points: await state.points()
      }
    }
  })
}
