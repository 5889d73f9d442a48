import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FormBody } from '../../../src/user-page/form-body.js'

test('what a browser encodes is read back byte by byte', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/)
  fc.assert(
    fc.property(fc.dictionary(name, fc.string({ unit: 'grapheme' }), { maxKeys: 10 }), (fields) => {
      const form = new FormBody(Buffer.from(new URLSearchParams(fields).toString()))
      for (const [key, value] of Object.entries(fields)) {
        assert.equal(form.secret(key).toString(), value.toWellFormed())
      }
    })
  )
})

/** @type {[string, string][]} the body, and what its field `a` is */
const ODD = [
  ['', ''],
  ['a', ''],
  ['=x', ''],
  ['&&a=1&', '1'],
  ['a=1&a=2', '1'],
  ['a=%', '%'],
  ['a=%4', '%4'],
  ['a=%zz', '%zz'],
  ['a=%z4&b', '%z4'],
  ['a=%4z&b', '%4z'],
  ['a=%41%62', 'Ab'],
  ['a=%c3%A4%Ef', '\u00e4\ufffd'],
  // What a lower-case letter and its capital differ in is what these and digits differ in.
  ['a=%\u0014\u0011', '%\u0014\u0011'],
  ['a=b=c', 'b=c'],
  ['%61=x+y', 'x y']
]
for (const [body, value] of ODD) {
  test(`${JSON.stringify(body)} gives ${JSON.stringify(value)}`, () => {
    assert.equal(new FormBody(Buffer.from(body)).secret('a').toString(), value)
  })
}

test('the body is zeroed once it is read, and the fields when the form is done with', () => {
  const body = Buffer.from('password=secret')
  const form = new FormBody(body)
  const password = form.secret('password')
  assert.ok(body.every((byte) => byte === 0))
  assert.equal(password.toString(), 'secret')
  form.dispose()
  assert.ok(password.every((byte) => byte === 0))
  assert.equal(form.secret('password').length, 0)
})

test('of a field that comes twice no copy is left', (t) => {
  const body = Buffer.from('password=secret&password=another')
  const from = t.mock.method(Buffer, 'from')
  const form = new FormBody(body)
  const copies = from.mock.calls.map(({ result }) => /** @type {Buffer} */ (result))
  from.mock.restore()
  assert.ok(copies.some((bytes) => bytes.includes('secret')))
  form.dispose()
  for (const secret of ['secret', 'another'])
    assert.ok(copies.every((bytes) => !bytes.includes(secret)))
})

test('of very many fields only the first are kept', () => {
  const many = Array.from({ length: 10_000 }, (_, nth) => `f${nth}=x`).join('&')
  const form = new FormBody(Buffer.from(many))
  assert.equal(form.text('f15'), 'x')
  assert.equal(form.text('f16'), '')
})
