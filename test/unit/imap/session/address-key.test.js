import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressKey, isLoopback } from '../../../../src/imap/session/address-key.js'

test('IPv4 counts by address, IPv6 by its /64, mapped IPv4 as IPv4', () => {
  assert.equal(addressKey('192.0.2.1'), '192.0.2.1')
  assert.equal(addressKey('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(addressKey('2001:db8:1:2:3:4:5:6'), addressKey('2001:db8:1:2::9'))
  assert.notEqual(addressKey('2001:db8:1:2::9'), addressKey('2001:db8:1:3::9'))
  assert.equal(addressKey('2001:db8::1'), addressKey('2001:0db8:0:0:ffff::'))
  assert.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2'))
})

test('loopback is 127.0.0.0/8 and ::1 alone', () => {
  for (const address of ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1']) {
    assert.equal(isLoopback(address), true, address)
  }
  for (const address of [
    '128.0.0.1',
    '10.0.0.1',
    '::2',
    '::ffff:10.0.0.1',
    '127.evil.example',
    ''
  ]) {
    assert.equal(isLoopback(address), false, address)
  }
})
