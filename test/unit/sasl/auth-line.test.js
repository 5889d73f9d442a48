import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  escapeField,
  formatLine,
  parseRequest,
  unescapeField
} from '../../../src/sasl/auth-line.js'

const parse = (/** @type {string} */ text) => parseRequest(Buffer.from(text))

test('AUTH has an id, a mechanism, parameters, and the response as its last field', () => {
  const request = parse(
    'AUTH\t7\tPLAIN\tservice=smtp\tnologin\trip=192.0.2.1\tsecured\tsession=a\x01tb=c\tresp=AGE=\tmore'
  )
  assert.deepEqual(request, {
    command: 'AUTH',
    id: 7,
    mechanism: 'PLAIN',
    parameters: new Map([
      ['service', 'smtp'],
      ['nologin', ''],
      ['rip', '192.0.2.1'],
      ['secured', ''],
      ['session', 'a\tb=c']
    ]),
    response: Buffer.from('AGE=')
  })
  assert.deepEqual(parse('AUTH\t0\tLOGIN'), {
    command: 'AUTH',
    id: 0,
    mechanism: 'LOGIN',
    parameters: new Map(),
    response: null
  })
})

test('the other requests', () => {
  assert.deepEqual(parse('VERSION\t1\t2'), { command: 'VERSION', major: 1 })
  assert.deepEqual(parse('CPID\t4711'), { command: 'CPID' })
  assert.deepEqual(parse('CONT\t3\tAGE='), {
    command: 'CONT',
    id: 3,
    response: Buffer.from('AGE=')
  })
  assert.deepEqual(parse('CONT\t3'), { command: 'CONT', id: 3, response: Buffer.alloc(0) })
  assert.deepEqual(parse('CANCEL\t4294967295'), { command: 'CANCEL', id: 4294967295 })
})

for (const line of [
  '',
  'AUTH',
  'AUTH\t1',
  'AUTH\tx\tPLAIN',
  'AUTH\t-1\tPLAIN',
  'AUTH\t4294967296\tPLAIN',
  'auth\t1\tPLAIN',
  'CONT',
  'EHLO mail.example.org',
  '\0\0\0\0'
]) {
  test(`${JSON.stringify(line)} is no line of the protocol`, () => {
    assert.equal(parse(line), null)
  })
}

test('any text crosses a field whole, and never ends it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const escaped = escapeField(text)
      assert.doesNotMatch(escaped, /[\0\t\r\n]/)
      assert.equal(unescapeField(escaped), text)
      assert.equal(formatLine('OK', 1, text), `OK\t1\t${escaped}\n`)
    })
  )
})

test('no bytes make the parser throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      parseRequest(Buffer.from(bytes))
      parseRequest(Buffer.concat([Buffer.from('AUTH\t1\tPLAIN\t'), bytes]))
    })
  )
})
