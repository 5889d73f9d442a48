import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collationKey } from '../../../src/store/sort/collation.js'

test('texts match whatever their case and composition (RFC 5051 §2)', () => {
  assert.equal(collationKey('straße Été'), collationKey('STRAßE E\u0301TE\u0301'))
  assert.equal(collationKey('\u01c6'), collationKey('\u01c4'))
  assert.notEqual(collationKey('a'), collationKey('\u00e4'))
})

test('they compare as their UTF-8 bytes do', () => {
  const texts = ['', 'A', 'b', 'Z', '\u00e9', '\u0416', '\u65e5', '\u{1f600}']
  const keys = texts.map(collationKey)
  assert.deepEqual(
    [...keys].sort(),
    ['', 'A', 'b', '\u00e9', 'Z', '\u0416', '\u65e5', '\u{1f600}'].map(collationKey)
  )
})

test('a key is short, whatever a text becomes by decomposition', () => {
  // One character becomes eighteen.
  const long = '\ufdfa'.repeat(87_000)
  assert.ok(collationKey(long).length <= 4096)
  assert.ok(collationKey('x'.repeat(250_000)).length <= 4096)
  assert.ok(collationKey(`a${long}`) < collationKey(`b${long}`))
})
