import { test } from 'node:test'
import assert from 'node:assert/strict'
import { advertisedCapabilities, CAPABILITIES } from '../../../../src/imap/protocol/capability.js'

const facts = {
  isAuthenticated: false,
  isTls: false,
  isTlsAvailable: true,
  isLoginAllowed: false,
  maxMessageBytes: 1000
}

test('before login without TLS: STARTTLS and no way to send a password', () => {
  const names = advertisedCapabilities(facts)
  assert.equal(names[0], 'IMAP4rev1')
  for (const name of ['STARTTLS', 'LOGINDISABLED', 'SASL-IR', 'ID', 'ENABLE', 'LITERAL+'])
    assert.ok(names.includes(name), name)
  for (const name of ['AUTH=PLAIN', 'AUTH=LOGIN', 'IDLE', 'UIDPLUS'])
    assert.ok(!names.includes(name), name)
})

test('before login with TLS: passwords, and no STARTTLS', () => {
  const names = advertisedCapabilities({ ...facts, isTls: true, isLoginAllowed: true })
  assert.ok(names.includes('AUTH=PLAIN') && names.includes('AUTH=LOGIN'))
  assert.ok(!names.includes('STARTTLS') && !names.includes('LOGINDISABLED'))
})

test('STARTTLS is not offered without a certificate', () => {
  assert.ok(!advertisedCapabilities({ ...facts, isTlsAvailable: false }).includes('STARTTLS'))
})

test('after login: what the mailbox can do, and nothing of the login', () => {
  const names = advertisedCapabilities({ ...facts, isAuthenticated: true })
  for (const name of ['IMAP4rev1', 'IDLE', 'MOVE', 'CONDSTORE', 'UTF8=ACCEPT', 'SPECIAL-USE'])
    assert.ok(names.includes(name), name)
  for (const name of ['STARTTLS', 'LOGINDISABLED', 'AUTH=PLAIN', 'SASL-IR'])
    assert.ok(!names.includes(name), name)
})

test('APPENDLIMIT says how much (RFC 7889 §2)', () => {
  assert.ok(
    advertisedCapabilities({ ...facts, isAuthenticated: true }).includes('APPENDLIMIT=1000')
  )
})

test('each capability stands once, and says where it is defined', () => {
  assert.equal(new Set(CAPABILITIES.map(({ name }) => name)).size, CAPABILITIES.length)
  for (const { reference } of CAPABILITIES) assert.match(reference, /^RFC \d+( §[\d.]+)?$/)
})
