import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collationKey } from '../../../src/store/sort/collation.js'

test('texts match whatever their case and composition (RFC 5051 §2)', () => {
  assert.equal(collationKey('straße Été'), collationKey('STRAßE E\u0301TE\u0301'))
  for (const letters of [
    '\u01c4\u01c5\u01c6',
    '\u01c7\u01c8\u01c9',
    '\u01ca\u01cb\u01cc',
    '\u01f1\u01f2\u01f3'
  ])
    assert.equal(new Set(Array.from(letters, collationKey)).size, 1)
  assert.notEqual(collationKey('a'), collationKey('\u00e4'))
})

test('title case is one letter: Greek with an iota below, Georgian', () => {
  for (const [lower, title] of [
    '\u1f80\u1f88',
    '\u1f97\u1f9f',
    '\u1fa3\u1fab',
    '\u1fb3\u1fbc',
    '\u1fc3\u1fcc',
    '\u1ff3\u1ffc'
  ])
    assert.equal(collationKey(lower ?? ''), collationKey(title ?? ''))
  assert.notEqual(collationKey('\u1f80'), collationKey('\u1f81'))
  assert.equal(collationKey('\u10d0'), Buffer.from('\u10d0').toString('latin1'))
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
