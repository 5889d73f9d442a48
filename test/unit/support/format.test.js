import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes } from '../../../src/admin/dashboard/format.js'
import { formatBytes } from '../../../src/support/format.js'

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
