import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressKey } from '../../../src/support/address-key.js'

const KEYS = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['2001:0db8:0:0:ffff::', '2001:db8:0:0::/64'],
  ['::1:2:3:4:5:192.0.2.1', '0:1:2:3::/64'],
  ['', '']
]

for (const [address = '', key] of KEYS)
  test(`${JSON.stringify(address)} counts as ${key}`, () => assert.equal(addressKey(address), key))
