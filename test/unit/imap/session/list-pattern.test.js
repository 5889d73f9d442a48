import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isMailError } from '../../../../src/errors.js'
import {
  compileListPattern,
  compileListPatterns
} from '../../../../src/imap/session/list-pattern.js'

/** @type {[pattern: string, name: string, isMatch: boolean][]} */
const CASES = [
  ['*', 'a/b/c', true],
  ['%', 'a', true],
  ['%', 'a/b', false],
  ['%/%', 'a/b', true],
  ['%/%', 'a/b/c', false],
  ['a/*', 'a', false],
  ['a*', 'a', true],
  ['a/%', 'a/b', true],
  ['*b', 'a/b', true],
  ['%b', 'a/b', false],
  ['*%', 'a/b', true],
  ['inbox', 'INBOX', true],
  ['InB%', 'INBOX', true],
  ['inbox/*', 'INBOX/x', true],
  ['inbox/*', 'INBOX', false],
  ['inbox*', 'INBOX/x', true],
  ['i%', 'INBOX/x', false],
  ['%nb%/x', 'INBOX/x', true],
  ['*ox/X', 'INBOX/x', false],
  ['*x', 'INBOX/X', false],
  ['*x/', 'INBOX/x', false],
  ['inbox*', 'INBOXES', false],
  ['ınbox', 'INBOX', false],
  ['ab', 'AB', false],
  ['', '', true],
  ['', 'a', false],
  ['a.c', 'abc', false],
  ['ä%', 'äöü', true],
  ['%📬', '📪📬', true]
]

test('LIST patterns: * is anything, % stops at the separator, INBOX in any case', () => {
  for (const [pattern, name, isMatch] of CASES) {
    assert.equal(compileListPattern(pattern)(name), isMatch, `${pattern} ${name}`)
  }
})

const WILDCARDS = new Map([
  ['*', '.*'],
  ['%', '[^/]*']
])

test('LIST patterns match as the regular expression of the same meaning', () => {
  const pattern = fc.array(fc.constantFrom('a', 'b', '/', '*', '%'), { maxLength: 8 })
  const name = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 10 })
  fc.assert(
    fc.property(pattern, name, (signs, letters) => {
      const source = signs.map((sign) => WILDCARDS.get(sign) ?? sign).join('')
      const isMatch = new RegExp(`^${source}$`).test(letters.join(''))
      assert.equal(compileListPattern(signs.join(''))(letters.join('')), isMatch)
    })
  )
})

test('a pattern of nothing but wildcards costs no more than its length', () => {
  const match = compileListPattern(`${'%a*'.repeat(300)}b`)
  assert.equal(match('a'.repeat(900)), false)
})

test('equal patterns are compared once, names all together, and nothing beside one that takes anything', () => {
  assert.equal(compileListPatterns(Array(8000).fill('*a*b%c')).length, 2)
  assert.equal(compileListPatterns(['a%', '**', 'b']).length, 1)
  const names = Array.from({ length: 8000 }, (_, nth) => `name${nth}`)
  const tests = compileListPatterns([...names, 'inbox', '%x'])
  assert.equal(tests.length, 2)
  const isTaken = (/** @type {string} */ name) => tests.some((test) => test(name))
  assert.deepEqual(['name7999', 'name8000', 'INBOX', '%x', 'ax', 'a/x'].map(isTaken), [
    true,
    false,
    true,
    true,
    true,
    false
  ])
})

test('a hundred different patterns are taken, and no more', () => {
  const patterns = Array.from({ length: 101 }, (_, nth) => `*a${nth}%`)
  assert.equal(compileListPatterns(patterns.slice(1)).length, 101)
  assert.throws(
    () => compileListPatterns(patterns),
    (error) => isMailError(error, 'LIMIT')
  )
})
