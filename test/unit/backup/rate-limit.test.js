import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { RateLimit } from '../../../src/backup/rate-limit.js'

/**
 * @param {number} bytesPerSecond
 * @param {number} bytes
 * @returns {Promise<number>} ms
 */
async function timeOf(bytesPerSecond, bytes) {
  const limit = new RateLimit(bytesPerSecond)
  const startedMs = performance.now()
  let passed = 0
  async function* source() {
    for (let sent = 0; sent < bytes; sent += 1000) yield Buffer.alloc(1000)
  }
  for await (const chunk of limit.throttle(source())) passed += chunk.length
  assert.equal(passed, bytes)
  return performance.now() - startedMs
}

test('bytes take as long as the limit says, less the burst that may pass at once', async () => {
  const ms = await timeOf(100_000, 60_000)
  assert.ok(ms >= 600 - 250 - 5, `${ms} ms`)
})

test('without a limit nothing waits, not even for a turn of the event loop', async () => {
  const passing = new RateLimit(0).take(10_000_000).then(() => 'has passed')
  assert.equal(await Promise.race([passing, turn('waits')]), 'has passed')
})
