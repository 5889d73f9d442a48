import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressKey } from '../../../../src/imap/session/address-key.js'

test('IPv4 counts by address, IPv6 by its /64, mapped IPv4 as IPv4', () => {
  assert.equal(addressKey('192.0.2.1'), '192.0.2.1')
  assert.equal(addressKey('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(addressKey('2001:db8:1:2:3:4:5:6'), addressKey('2001:db8:1:2::9'))
  assert.notEqual(addressKey('2001:db8:1:2::9'), addressKey('2001:db8:1:3::9'))
  assert.equal(addressKey('2001:db8::1'), addressKey('2001:0db8:0:0:ffff::'))
  assert.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2'))
})
