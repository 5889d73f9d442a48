import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpsListener } from '../../../src/user-page/listener.js'
import { certificateIn } from '../../helpers/certificate.js'
import { checkIntervalOf } from '../../helpers/check-interval.js'
import { scratchFolder } from '../../helpers/process.js'

test('who is slow is cut off soon after his time has passed', async (t) => {
  const { certificate: cert, key } = await certificateIn(scratchFolder(t, 'listener'))
  const server = new HttpsListener({ cert, key }).makeServer(() => {})
  assert.ok(server.headersTimeout <= 10_000, `${server.headersTimeout}`)
  assert.ok(server.requestTimeout <= 30_000, `${server.requestTimeout}`)
  assert.ok(checkIntervalOf(server) <= 2_000)
})
