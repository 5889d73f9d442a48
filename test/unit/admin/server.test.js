import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createAdminServer } from '../../../src/admin/server.js'

test('live answers while the process runs; ready only while it serves', async (t) => {
  let isReady = true
  const server = createAdminServer({
    health: () => ({ isReady, counts: { sessions: 3 } }),
    maintenance: async () => ({ failing: [], failingTotal: 0, maintenanceRunning: 0 })
  })
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  const base = `http://${host}:${port}`

  const live = await fetch(`${base}/health/live`)
  assert.equal(live.status, 200)
  assert.equal(live.headers.get('cache-control'), 'no-store')
  const ready = await fetch(`${base}/health/ready`)
  assert.equal(ready.status, 200)
  assert.deepEqual(await ready.json(), { status: 'ok', sessions: 3 })
  isReady = false
  assert.equal((await fetch(`${base}/health/ready`)).status, 503)
  assert.equal((await fetch(`${base}/anything`)).status, 404)
})

test('maintenance tells its figures, and fails while a job of any mailbox fails', async (t) => {
  const failure = {
    accountId: '0123456789abcdef',
    job: 'quick-check',
    failures: 2,
    code: 'ACCOUNT_DAMAGED',
    nextTryAtMs: 7
  }
  const answers = [
    { failing: [], failingTotal: 0, maintenanceRunning: 1 },
    { failing: [failure], failingTotal: 1, maintenanceRunning: 0 }
  ]
  const server = createAdminServer({
    health: () => ({ isReady: true, counts: {} }),
    maintenance: async () => /** @type {any} */ (answers.shift())
  })
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  const good = await fetch(`http://${host}:${port}/health/maintenance`)
  assert.equal(good.status, 200)
  assert.deepEqual(await good.json(), {
    status: 'ok',
    failing: [],
    failingTotal: 0,
    maintenanceRunning: 1
  })
  const bad = await fetch(`http://${host}:${port}/health/maintenance`)
  assert.equal(bad.status, 503)
  assert.deepEqual(await bad.json(), {
    status: 'fail',
    failing: [failure],
    failingTotal: 1,
    maintenanceRunning: 0
  })
})
