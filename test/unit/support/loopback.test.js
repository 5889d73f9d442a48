import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopback } from '../../../src/support/loopback.js'

test('loopback is 127.0.0.0/8 and ::1 alone', () => {
  for (const address of [
    '127.0.0.1',
    '127.255.10.99',
    '::1',
    '::ffff:127.0.0.1',
    '::FFFF:127.255.10.99'
  ])
    assert.equal(isLoopback(address), true, address)
  for (const address of [
    '128.0.0.1',
    '10.0.0.1',
    '::2',
    '::ffff:10.0.0.1',
    '1::ffff:127.0.0.1',
    '::ffff:127.0.0.1.example',
    '10.127.0.0.1',
    '127.0.0.1.example',
    '127.evil.example',
    ''
  ]) {
    assert.equal(isLoopback(address), false, address)
  }
})
