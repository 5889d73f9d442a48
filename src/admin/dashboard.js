/**
 * The dashboard's files: a page of its own without a build step, and the chart library as npm brings it. Nothing is loaded
 * from elsewhere, and the browser is told to allow nothing else.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'

/** @import { FastifyInstance } from 'fastify' */

const FOLDER = fileURLToPath(new URL('dashboard', import.meta.url))
const CHARTS = dirname(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.esm.js')))
/** Files of the chart library that the page loads. */
const CHART_FILES = ['uPlot.esm.js', 'uPlot.min.css']

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

/** @param {FastifyInstance} app */
export async function addDashboard(app) {
  await app.register(async (pages) => {
    pages.addHook('onSend', async (_request, reply) => {
      reply.headers({
        'content-security-policy': POLICY,
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-cache'
      })
    })
    for (const path of ['/', '/dashboard']) {
      pages.get(path, { schema: { hide: true } }, async (_request, reply) =>
        reply.redirect('/dashboard/')
      )
    }
    await pages.register(fastifyStatic, {
      root: FOLDER,
      prefix: '/dashboard/',
      cacheControl: false,
      schemaHide: true
    })
    for (const file of CHART_FILES) {
      pages.get(`/dashboard/charts/${file}`, { schema: { hide: true } }, async (_request, reply) =>
        reply.sendFile(file, CHARTS)
      )
    }
  })
}
