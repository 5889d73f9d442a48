import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createAdminServer } from '../../../src/admin/server.js'

test('live answers while the process runs; ready only while it serves', async (t) => {
  let isReady = true
  const server = createAdminServer({ health: () => ({ isReady, counts: { sessions: 3 } }) })
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
