import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMailError } from '../../../src/errors.js'
import { AddressList } from '../../../src/support/address-list.js'

test('single addresses and blocks are in it, in every form that sockets show them in', () => {
  const list = new AddressList(['192.0.2.1', '10.0.0.0/8', '2001:db8::5', 'fd00::/8'], 'a.setting')
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:10.1.2.3', '10.255.255.255']) {
    assert.equal(list.has(address), true, address)
  }
  for (const address of ['2001:db8::5', '2001:DB8:0:0::5', 'fd12::1']) {
    assert.equal(list.has(address), true, address)
  }
  for (const address of ['192.0.2.2', '11.0.0.1', '2001:db8::6', 'fe80::1', '', 'localhost']) {
    assert.equal(list.has(address), false, address)
  }
})

test('a block may be one address', () => {
  const list = new AddressList(['192.0.2.1/32', '2001:db8::5/128'], 'a.setting')
  for (const address of ['192.0.2.1', '2001:db8::5']) assert.ok(list.has(address), address)
  for (const address of ['192.0.2.0', '2001:db8::4']) assert.ok(!list.has(address), address)
})

test('what is no address and no block is named', () => {
  for (const entry of [
    ...['localhost', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/x', ''],
    ...[
      '10.0.0.0/8/8',
      '10.0.0',
      '01.2.3.4',
      '10.0.0.0/-1',
      '1::2::3',
      '[::1]',
      '::1\0',
      ' ::1',
      '::1\n',
      '::1%'
    ]
  ]) {
    assert.throws(
      () => new AddressList(['127.0.0.1', entry], 'a.setting'),
      (error) =>
        isMailError(error, 'CONFIG_INVALID') &&
        /** @type {import('../../../src/errors.js').MailError} */ (error).detail ===
          `a.setting: ${entry}`,
      entry
    )
  }
})
