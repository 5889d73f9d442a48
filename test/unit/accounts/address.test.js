import assert from 'node:assert/strict'
import { test } from 'node:test'
import { join, normalize, sep } from 'node:path'
import fc from 'fast-check'
import {
  domainFolder,
  normalizeDomain,
  parseAddress,
  searchForms,
  withoutDetail
} from '../../../src/accounts/address.js'
import { isMailError } from '../../../src/errors.js'

const isRefusal = (/** @type {unknown} */ error) => isMailError(error, 'ADDRESS_INVALID')

test('addresses that are one and the same come out as one', () => {
  const table = [
    ['Anna@Example.ORG', 'anna@example.org'],
    ['anna@example.org.', 'anna@example.org'],
    ['"anna"@example.org', 'anna@example.org'],
    ['anna@Bücher.example', 'anna@xn--bcher-kva.example'],
    ['anna@xn--bcher-kva.example', 'anna@xn--bcher-kva.example'],
    ['JÖRG@example.org', 'jörg@example.org'],
    ['Jo\u0308rg@example.org', 'jörg@example.org'],
    ['a+b.c_d@x-1.example', 'a+b.c_d@x-1.example'],
    ['anna@localhost', 'anna@localhost']
  ]
  for (const [typed, address] of table) assert.equal(parseAddress(String(typed)).address, address)
})

test('a part of an address is looked for as it stands, and with its domain as ASCII', () => {
  const table = /** @type {[string, string[]][]} */ ([
    ['', ['']],
    ['Anna', ['anna']],
    ['bücher', ['bücher', 'xn--bcher-kva']],
    ['Anna@BÜCHER.ex', ['anna@bücher.ex', 'anna@xn--bcher-kva.ex']],
    ['jörg@', ['jörg@']],
    ['%_!', ['%_!']]
  ])
  for (const [part, forms] of table) assert.deepEqual(searchForms(part), forms)
})

test('a name without a domain gets the default one, and is refused without', () => {
  assert.equal(parseAddress('Anna', { defaultDomain: 'Example.org' }).address, 'anna@example.org')
  assert.throws(() => parseAddress('anna'), isRefusal)
})

test('what is no address is refused', () => {
  const texts = [
    '',
    '@',
    '@example.org',
    'anna@',
    'an na@example.org',
    'anna@exa mple.org',
    '.anna@example.org',
    'anna.@example.org',
    'an..na@example.org',
    'a@b@example.org',
    'anna@example..org',
    'anna@.example.org',
    'anna@-example.org',
    'anna@[127.0.0.1]',
    'anna@../../etc',
    'anna@a/b',
    'anna@a%2fb',
    'anna@..',
    'anna\0@example.org',
    'anna\n@example.org',
    'an\u00a0na@example.org',
    'an\u200bna@example.org',
    '"a b"@example.org',
    '<anna@example.org>',
    'a,b@example.org',
    `${'a'.repeat(65)}@example.org`,
    `anna@${'a'.repeat(64)}.org`,
    `anna@${'a.'.repeat(127)}org`
  ]
  for (const text of texts) assert.throws(() => parseAddress(text), isRefusal, JSON.stringify(text))
})

test('parsing is refusal or a fixed point, for any string', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (local, domain) => {
      let first
      try {
        first = parseAddress(`${local}@${domain}`)
      } catch (error) {
        assert.ok(isRefusal(error))
        return
      }
      assert.deepEqual(parseAddress(first.address), first)
    }),
    { numRuns: 2000 }
  )
})

test('the detail after the plus is left out, of the address with the plus in front never', () => {
  assert.equal(withoutDetail(parseAddress('anna+lists+x@example.org')), 'anna@example.org')
  assert.equal(withoutDetail(parseAddress('anna@example.org')), null)
  assert.equal(withoutDetail(parseAddress('+anna@example.org')), null)
})

test('a domain folder is one name below its parent, for any string', () => {
  for (const text of ['..', '.', '', '../..', '/etc', 'a/b', '%2e%2e', '\0', 'C:\\x', '...']) {
    const name = domainFolder(text)
    const path = normalize(join('/data/mail', name))
    assert.equal(path, `/data/mail/${name}`, text)
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const name = domainFolder(text)
      assert.ok(!name.includes(sep) && name !== '' && !name.startsWith('.'))
      assert.match(name, /^[a-z0-9.%A-F-]+$/)
    })
  )
  assert.equal(domainFolder('xn--bcher-kva.example'), 'xn--bcher-kva.example')
})

test('different domains have different folders', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (left, right) => {
      const isSame = Buffer.from(left).equals(Buffer.from(right))
      if (left !== '%' && right !== '%')
        assert.equal(domainFolder(left) === domainFolder(right), isSame)
    })
  )
})

test('domain names are ASCII and in lower case', () => {
  assert.equal(normalizeDomain('EXAMPLE.org'), 'example.org')
  assert.throws(() => normalizeDomain('exa mple.org'), isRefusal)
})
