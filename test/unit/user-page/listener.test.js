import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { HttpsListener } from '../../../src/user-page/listener.js'
import { checkIntervalOf } from '../../helpers/check-interval.js'
import { scratchFolder } from '../../helpers/process.js'

test('who is slow is cut off soon after his time has passed', async (t) => {
  const { certificate: cert, key } = await loadCertificate({
    folder: join(scratchFolder(t, 'listener'), 'tls'),
    certificateFile: '',
    keyFile: '',
    clock: systemClock
  })
  const server = new HttpsListener({ cert, key }).makeServer(() => {})
  assert.ok(server.headersTimeout <= 10_000, `${server.headersTimeout}`)
  assert.ok(server.requestTimeout <= 30_000, `${server.requestTimeout}`)
  assert.ok(checkIntervalOf(server) <= 2_000)
})
