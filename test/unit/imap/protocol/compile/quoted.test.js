import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { compileNstring, compileString } from '../../../../../src/imap/protocol/compile/quoted.js'
import { receive } from '../../../../helpers/imap-wire.js'

test('strings are quoted where they can be, and literals where they must be', () => {
  for (const [value, isUtf8, wire] of /** @type {const} */ ([
    ['', false, '""'],
    ['a "b" \\c', false, '"a \\"b\\" \\\\c"'],
    ['ü', false, '{2}\r\nü'],
    ['ü', true, '"ü"'],
    ['a\rb', true, '{3}\r\na\rb'],
    ['a\nb', false, '{3}\r\na\nb'],
    ['a\0b', true, '{3}\r\na\0b'],
    ['\x7f', false, '"\x7f"']
  ]))
    assert.equal(compileString(value, { isUtf8 }).toString(), wire)
  assert.equal(compileNstring(null).toString(), 'NIL')
  assert.equal(compileNstring('NIL').toString(), '"NIL"')
})

test('a string of 1,024 bytes is quoted, a longer one is a literal', () => {
  assert.equal(compileString(Buffer.alloc(1024, 97)).length, 1026)
  assert.equal(compileString(Buffer.alloc(1025, 97)).toString('latin1', 0, 8), '{1025}\r\n')
})

test('every string comes back from the wire as it was', () => {
  const property = fc.property(fc.uint8Array({ maxLength: 50 }), fc.boolean(), (bytes, isUtf8) => {
    const value = Buffer.from(bytes.map((byte) => byte || 1))
    const wire = compileString(value, { isUtf8 })
    const event = receive(Buffer.concat([Buffer.from('a X '), wire, Buffer.from('\r\n')])).at(-1)
    assert.ok(event?.kind === 'command')
    const [token] = event.command.tokens
    assert.ok(token?.type === 'string')
    assert.deepEqual(token.bytes, value)
  })
  fc.assert(property)
})
