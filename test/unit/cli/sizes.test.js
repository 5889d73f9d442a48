import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBytes } from '../../../src/cli/with-accounts.js'

test('a size is whole bytes, or a number with a unit', () => {
  const sizes = {
    0: 0,
    '0GB': 0,
    500: 500,
    '500 b': 500,
    '1k': 1000,
    '2.5 GB': 2.5e9,
    '0.4kb': 400
  }
  for (const [text, bytes] of Object.entries(sizes)) assert.equal(parseBytes(text), bytes, text)
})

test('a size that would come to nothing, which means no limit, is refused, and so is a fraction of a byte', () => {
  for (const text of [
    '0.4',
    '0.0004k',
    '2.5',
    '1.5b',
    '0.0',
    '',
    'b',
    '-1',
    '1e3',
    '0x10',
    '9999999999TB'
  ])
    assert.throws(() => parseBytes(text), { name: 'CliError', exitCode: 2 }, text)
})
