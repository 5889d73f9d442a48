import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { foldCase } from '../../../../src/store/search/fold.js'

/** @returns {string[]} every code point that has anything to do with case */
function casedLetters() {
  const cased = /\p{Changes_When_Casemapped}|\p{Changes_When_Casefolded}/u
  const letters = []
  for (let code = 0; code < 0x110000; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const letter = String.fromCodePoint(code)
    if (cased.test(letter)) letters.push(letter)
  }
  return letters
}

/** @type {[string, string, string][]} */
const EQUAL = [
  ['ASCII', 'Hello', 'hELLO'],
  ['German capital sharp s', 'STRAẞE', 'straße'],
  ['Greek, final sigma', 'ΟΔΥΣΣΕΥΣ', 'Οδυσσεύς'.normalize('NFD').replace(/\u0301/g, '')],
  ['Greek, sigma inside', 'σς', 'ΣΣ'],
  ['Georgian Mtavruli', 'ᲗᲑᲘᲚᲘᲡᲘ', 'თბილისი'],
  ['Georgian Asomtavruli', 'ႠႡႢ', 'ⴀⴁⴂ'],
  ['Cherokee', 'ᏣᎳᎩ', 'ꮳꮃꭹ'],
  ['Cherokee small letters of the first block', 'ᏰᏱ', 'ᏸᏹ'],
  ['Adlam', '𞤀𞤣𞤤𞤢𞤥', '𞤢𞤣𞤤𞤢𞤥'],
  ['Deseret', '𐐀𐐁', '𐐨𐐩'],
  ['Cyrillic', 'ПРИВЕТ', 'привет'],
  ['Armenian', 'ԲԱՐԵՎ', 'բարեվ'],
  ['long s', 'ſ', 'S'],
  ['micro sign', 'µ', 'Μ'],
  ['Kelvin', 'K', 'k'],
  ['spaces, whether lines may end there or not', '1\u202f000\u00a0km', '1 000\u2009km'],
  ['titlecase digraph', 'ǅ', 'ǆ'],
  ['where a word may be cut', 'Donau\u00addampf\u200bschiff', 'DonaudampfSCHIFF'],
  ['Turkish dotted capital I is itself', 'İstanbul', 'İSTANBUL']
]

/** @type {[string, string, string][]} */
const DIFFERENT = [
  ['sharp s is not ss', 'straße', 'strasse'],
  ['dotted capital I is not i', 'İ', 'i'],
  ['dotted capital I is not i with a dot', 'İ', 'i\u0307'],
  ['dotless i is not i', 'ı', 'I'],
  ['accents count', 'e', 'é'],
  ['ligatures count', 'ﬁ', 'fi']
]

for (const [name, left, right] of EQUAL) {
  test(`folding makes equal: ${name}`, () => assert.equal(foldCase(left), foldCase(right)))
}

for (const [name, left, right] of DIFFERENT) {
  test(`folding keeps apart: ${name}`, () => assert.notEqual(foldCase(left), foldCase(right)))
}

test('every cased letter of Unicode folds as in the simple folding of the regular expression engine', () => {
  const letters = casedLetters()
  assert.ok(letters.length > 2900)
  const all = letters.join('')
  /** @type {Map<string, string>} */
  const classes = new Map()
  for (const letter of letters) {
    const folded = foldCase(letter)
    classes.set(folded, (classes.get(folded) ?? '') + letter)
  }
  for (const letter of letters) {
    const same = [...all.matchAll(new RegExp(letter, 'giu'))].join('')
    assert.equal(classes.get(foldCase(letter)), same, `U+${letter.codePointAt(0)?.toString(16)}`)
  }
})

test('every space of Unicode is that of ASCII, and no other sign is', () => {
  for (let code = 0; code < 0x110000; code++) {
    const letter = String.fromCodePoint(code)
    assert.equal(foldCase(letter) === ' ', /\p{Zs}/u.test(letter), `U+${code.toString(16)}`)
  }
})

test('folding is idempotent, works letter by letter, and leaves out what is not seen alone', () => {
  const letter = fc.oneof(
    fc.constantFrom('Σ', 'σ', 'ς', 'İ', 'ı', 'ß', 'ẞ', 'Ა', '𞤀', ' ', 'A', '\u00ad', '\ud83d'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })
  )
  fc.assert(
    fc.property(fc.array(letter), (letters) => {
      const text = letters.join('')
      const folded = foldCase(text)
      const seen = text.replace(/[\u00ad\u200b\u2060\ufeff]/g, '')
      assert.equal([...folded].length, [...seen].length)
      assert.equal(foldCase(folded), folded)
      assert.equal([...text].map(foldCase).join(''), folded)
    })
  )
})
