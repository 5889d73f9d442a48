import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, counted as countedOnDashboard } from '../../../src/admin/dashboard/format.js'
import { counted, formatBytes } from '../../../src/support/format.js'

const SIZES = /** @type {const} */ ([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [1549, '1.5 kB'],
  [999_949, '999.9 kB'],
  [999_950, '1.0 MB'],
  [999_999_999, '1.0 GB'],
  [1_500_000_000_000, '1.5 TB'],
  [2_000_000_000_000_000, '2000.0 TB']
])

for (const [size, text] of SIZES) {
  test(`${size} bytes read ${text}, at the command line and on the dashboard`, () => {
    assert.equal(formatBytes(size), text)
    assert.equal(bytes(size), text)
  })
}

test('the dashboard shows a size that nobody knows as a dash', () => {
  assert.equal(bytes(null), '–')
  assert.equal(bytes(undefined), '–')
})

const NUMBERS = /** @type {const} */ ([
  [0, '0 mailboxes'],
  [1, '1 mailbox'],
  [2, '2 mailboxes'],
  [21, '21 mailboxes']
])

for (const [number, text] of NUMBERS) {
  test(`${number} of something read ${text}, at the command line and on the dashboard`, () => {
    assert.equal(counted(number, 'mailbox', 'mailboxes'), text)
    assert.equal(countedOnDashboard(number, 'mailbox', 'mailboxes'), text)
  })
}

test('the plural of most words has an s', () => {
  assert.equal(counted(1, 'message'), '1 message')
  assert.equal(counted(2, 'message'), '2 messages')
  assert.equal(countedOnDashboard(1, 'message'), '1 message')
  assert.equal(countedOnDashboard(12_345, 'message'), '12,345 messages')
})

test('a number that the dashboard does not know is a dash', () => {
  assert.equal(countedOnDashboard(undefined, 'message'), '– messages')
})
