import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseListenAddress } from '../../../src/support/listen-address.js'

test('an address to listen at is a host and a port, of IPv6 without its brackets', () => {
  assert.deepEqual(parseListenAddress('127.0.0.1:143'), { host: '127.0.0.1', port: 143 })
  assert.deepEqual(parseListenAddress('mail.example.org:0'), { host: 'mail.example.org', port: 0 })
  assert.deepEqual(parseListenAddress('[::1]:993'), { host: '::1', port: 993 })
})

test('a listener that is off has none', () => {
  assert.equal(parseListenAddress('off'), null)
})
