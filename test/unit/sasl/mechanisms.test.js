import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDialogue } from '../../../src/sasl/mechanisms.js'

/** @param {string} message */
function plain(message) {
  const dialogue = startDialogue('plain')
  assert.deepEqual(dialogue?.begin(), { challenge: '' })
  const step = dialogue.answer(Buffer.from(Buffer.from(message).toString('base64')))
  assert.ok('credentials' in step)
  const { username, password } = step.credentials
  return [username, password.toString()]
}

test('PLAIN has a name and a password, and nobody acts for somebody else (RFC 4616 §2)', () => {
  assert.deepEqual(plain('\0anna\0secret'), ['anna', 'secret'])
  assert.deepEqual(plain('anna\0anna\0s e\u00e4'), ['anna', 's e\u00e4'])
  assert.deepEqual(plain('\0anna\0'), ['anna', ''])
  for (const message of [
    '',
    'anna',
    '\0anna',
    'anna\0secret',
    '\0anna\0se\0cret',
    'ben\0anna\0secret'
  ])
    assert.throws(() => plain(message), { code: 'AUTHENTICATION_FAILED' }, JSON.stringify(message))
})

test('LOGIN asks for the name, then for the password', () => {
  const dialogue = startDialogue('Login')
  assert.deepEqual(dialogue?.begin(), { challenge: 'Username:' })
  assert.deepEqual(dialogue.answer(Buffer.from('YW5uYQ==')), { challenge: 'Password:' })
  assert.deepEqual(dialogue.answer(Buffer.from('c2VjcmV0')), {
    credentials: { username: 'anna', password: Buffer.from('secret') }
  })
})

test('no other mechanism is offered', () => assert.equal(startDialogue('CRAM-MD5'), null))
