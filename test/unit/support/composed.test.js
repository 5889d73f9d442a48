import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { composed } from '../../../src/support/composed.js'

const letters = fc.constantFrom(
  'e',
  'ß',
  'が',
  '한',
  '한',
  '漢',
  '😀',
  '\u0301',
  '\u0327',
  '\u0654',
  '\u{1d165}',
  '\n'
)

test('text that a language may have is composed as Unicode says', () => {
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 60 }), (parts) => {
      const text = parts.join('')
      fc.pre(!/\p{M}{31}/u.test(text))
      assert.equal(composed(text), text.normalize('NFC'))
    }),
    { numRuns: 2000 }
  )
})

test('of marks without end each thirty are composed by themselves, and none is lost', () => {
  const pair = '\u0327\u0301'
  assert.equal(composed(`e${pair.repeat(15)}`), `e${pair.repeat(15)}`.normalize('NFC'))
  const long = composed(`e${pair.repeat(40)}x${pair.repeat(16)}é`)
  assert.equal(
    long,
    [`e${pair.repeat(15)}`, pair.repeat(15), `${pair.repeat(10)}x${pair.repeat(15)}`, pair, 'é']
      .map((piece) => piece.normalize('NFC'))
      .join('')
  )
  // The time that ICU would take for it, hours, is no test's to measure: it only has to end.
  const text = `e${pair.repeat(5_000_000)}`
  assert.equal(composed(text).length, composed(text.slice(0, 31)).length + text.length - 31)
})
