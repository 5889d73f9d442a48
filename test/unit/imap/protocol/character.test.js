import { test } from 'node:test'
import assert from 'node:assert/strict'
import * as character from '../../../../src/imap/protocol/character.js'

/** @param {Uint8Array} table */
const members = (table) =>
  [...table.keys()]
    .filter((code) => table[code] === 1)
    .map((code) => String.fromCharCode(code))
    .join('')

const printable = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => index + 33))
const without = (/** @type {string} */ text, /** @type {string} */ removed) =>
  [...text].filter((letter) => !removed.includes(letter)).join('')
const high = String.fromCharCode(...Array.from({ length: 128 }, (_, index) => index + 128))

test('the classes of RFC 9051 §9 hold exactly their characters', () => {
  const atom = without(printable, '(){%*"\\]')
  assert.equal(members(character.ATOM_CHARACTER), atom)
  assert.equal(members(character.ASTRING_CHARACTER), without(printable, '(){%*"\\'))
  assert.equal(members(character.RAW_ASTRING_CHARACTER), without(printable, '(){%*"\\') + high)
  assert.equal(members(character.TAG_CHARACTER), without(printable, '(){%*"\\+'))
  assert.equal(members(character.WORD_CHARACTER), without(printable, '(){"') + high)
  const all = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code))
  assert.equal(members(character.QUOTED_CHARACTER), without(all, '\0\r\n"\\'))
})

test('a word is of a class when all its characters are, and when it has one', () => {
  assert.equal(character.isWordOf(character.ATOM_CHARACTER, 'abc'), true)
  assert.equal(character.isWordOf(character.ATOM_CHARACTER, ''), false)
  assert.equal(character.isWordOf(character.ATOM_CHARACTER, 'ab]'), false)
  assert.equal(character.isWordOf(character.ATOM_CHARACTER, 'ab\u0161'), false)
  assert.equal(character.isAll(character.ATOM_CHARACTER, Buffer.alloc(0)), true)
  assert.equal(character.isAll(character.ATOM_CHARACTER, Buffer.from('a(')), false)
})
