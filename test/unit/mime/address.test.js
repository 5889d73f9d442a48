import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { formatAddresses, parseAddressText } from '../../../src/mime/address.js'
import { MAX_ADDRESSES } from '../../../src/mime/limits.js'

/** @param {string} text */
const parse = (text) =>
  parseAddressText(text).map(({ name, route, mailbox, host }) => [name, route, mailbox, host])

/**
 * Written form, then name, route, mailbox, host of each.
 * @type {[string, (string | null)[][]][]}
 */
const LISTS = [
  ['user@domain', [[null, null, 'user', 'domain']]],
  ['<user@domain>', [[null, null, 'user', 'domain']]],
  ['Real Name <user@domain>', [['Real Name', null, 'user', 'domain']]],
  ['"Name, Real" <user@domain>', [['Name, Real', null, 'user', 'domain']]],
  ['"a \\"b\\" \\\\c" <u@d>', [['a "b" \\c', null, 'u', 'd']]],
  ['John Q. Public <u@d>', [['John Q. Public', null, 'u', 'd']]],
  ['John  "the" Public <u@d>', [['John the Public', null, 'u', 'd']]],
  ['John "the"re"fore" <u@d>', [['John therefore', null, 'u', 'd']]],
  ['user@domain (Real Name)', [['Real Name', null, 'user', 'domain']]],
  ['user@domain (Real (nested) Name)', [['Real (nested) Name', null, 'user', 'domain']]],
  ['(Real Name) <u@d>', [['Real Name', null, 'u', 'd']]],
  ['a@b, c@d', [[null, null, 'a', 'b'], [null, null, 'c', 'd']]], // prettier-ignore
  [',, a@b ,, c@d,', [[null, null, 'a', 'b'], [null, null, 'c', 'd']]], // prettier-ignore
  ['a@b; c@d', [[null, null, 'a', 'b'], [null, null, 'c', 'd']]], // prettier-ignore
  ['<@route:user@domain>', [[null, '@route', 'user', 'domain']]],
  ['N <@a,@b:user@domain>', [['N', '@a,@b', 'user', 'domain']]],
  ['<u (x)@ (y) d . e>', [[null, null, 'u', 'd.e']]],
  ['u . v @ d . e (N)', [['N', null, 'u.v', 'd.e']]],
  ['N u .v@d', [['N', null, 'u.v', 'd']]],
  ['N. u. v@d', [[null, null, 'N.u.v', 'd']]],
  ['"u v"@d', [[null, null, 'u v', 'd']]],
  ['N "u v"w@d', [['N', null, 'u vw', 'd']]],
  ['<"u@v"@d>', [[null, null, 'u@v', 'd']]],
  ['u@[192.0.2.1]', [[null, null, 'u', '[192.0.2.1]']]],
  ['u@[IPv6:2001:db8::1], <v@[IPv6:::1]>', [[null, null, 'u', '[IPv6:2001:db8::1]'], [null, null, 'v', '[IPv6:::1]']]], // prettier-ignore
  ['u@d <v@[192.0.2.1]>', [['u@d', null, 'v', '[192.0.2.1]']]],
  ['u@"d".e, v@\\d', [[null, null, 'u', 'd.e'], [null, null, 'v', 'd']]], // prettier-ignore
  ['group: a@b, N <c@d>;', [[null, null, 'group', null], [null, null, 'a', 'b'], ['N', null, 'c', 'd'], [null, null, null, null]]], // prettier-ignore
  ['g:;, h: (c) ;', [[null, null, 'g', null], [null, null, null, null], [null, null, 'h', null], [null, null, null, null]]], // prettier-ignore
  ['undisclosed-recipients:', [[null, null, 'undisclosed-recipients', null], [null, null, null, null]]], // prettier-ignore
  ['"A B" C: a@b', [[null, null, 'A B C', null], [null, null, 'a', 'b'], [null, null, null, null]]], // prettier-ignore
  ['', []],
  [' \r\n\t ', []],
  ['(comment only)', []],
  ['root', [[null, null, 'root', '']]],
  ['MAILER-DAEMON (Mail System)', [['Mail System', null, 'MAILER-DAEMON', '']]],
  ['John Doe', [['John Doe', null, '', '']]],
  ['"John Doe"', [['John Doe', null, '', '']]],
  ['<>', [[null, null, '', '']]],
  ['Daemon <>', [['Daemon', null, '', '']]],
  ['N <user>', [['N', null, 'user', '']]],
  ['" " <a@b>', [[null, null, 'a', 'b']]],
  ['a@b <a@b>', [['a@b', null, 'a', 'b']]],
  ['John Doe john@d', [['John Doe', null, 'john', 'd']]],
  ['a@b@c', [[null, null, 'a@b', 'c']]],
  ['N <a@b>, M <c@d', [['N', null, 'a', 'b'], ['M', null, 'c', 'd']]], // prettier-ignore
  ['N <a"@"@b, M <c@d>', [['N', null, 'a@', 'b'], ['M', null, 'c', 'd']]], // prettier-ignore
  ['N <a@b, M <c@d>', [['N', null, 'a', 'b'], ['M', null, 'c', 'd']]], // prettier-ignore
  ['<a@b> <c@d>', [[null, null, 'a', 'b'], [null, null, 'c', 'd']]], // prettier-ignore
  ['"John <john@d>', [['John', null, 'john', 'd']]],
  ['john@d (John', [[null, null, 'john', 'd']]],
  ['=?utf-8?q?J=C3=B6rg?=\r\n =?utf-8?q?_X?= <j@d>', [['=?utf-8?q?J=C3=B6rg?= =?utf-8?q?_X?=', null, 'j', 'd']]], // prettier-ignore
  ['J\xc3\xb6rg <j@d\xc3\xb6>', [['J\xc3\xb6rg', null, 'j', 'd\xc3\xb6']]],
  ['Real\r\n Name\r\n <u\r\n @d>', [['Real Name', null, 'u', 'd']]],
  ['@', [[null, null, '', '']]],
  ['@d', [[null, null, '', 'd']]],
  [':;<>', [[null, null, '', '']]]
]

for (const [text, expected] of LISTS)
  test(`address list ${JSON.stringify(text)}`, () => assert.deepEqual(parse(text), expected))

test('a million open parentheses, quotes or brackets take linear time', () => {
  for (const piece of [
    '(',
    '((\\)',
    '"\\"',
    '<',
    '<<@',
    '[',
    '[.',
    '[\\',
    'a ',
    'a@',
    ',',
    ':',
    ';',
    '@(',
    'a:b'
  ])
    parse(`a@b ${piece.repeat(1_000_000 / piece.length)}`)
  const growing = /** @type {const} */ ([
    ['<', ':'],
    ['<@a', ','],
    ['<"@"', ','],
    ['a@', 'b. '],
    ['a@', '[b]'],
    ['a', '@['],
    ['a@', '[,b@']
  ])
  for (const [start, piece] of growing) parse(`${start}${piece.repeat(262_144 / piece.length)}`)
  assert.deepEqual(parse(`${'('.repeat(130_000)}${')'.repeat(130_000)} a@b`), [[null, null, 'a', 'b']]) // prettier-ignore
})

test('a domain literal ends with its bracket, and is none without one, with a comma, or if it is too long', () => {
  assert.deepEqual(parse('a@[1.2. 3.4]'), [[null, null, 'a', '[1.2.3.4]']])
  assert.deepEqual(parse('a@[b, c@[d]'), [
    [null, null, 'a', '[b'],
    [null, null, 'c', '[d]']
  ])
  assert.deepEqual(parse('a@[b c@d'), [[null, null, 'a', '[b']])
  assert.deepEqual(parse(`${'a@b, '.repeat(60)}c@[::1]`).at(-1), [null, null, 'c', '[::1]'])
  for (const [length, host] of /** @type {const} */ ([
    [250, `[${'x'.repeat(250)}]`],
    [251, `[${'x'.repeat(251)}]`]
  ]))
    assert.deepEqual(parse(`a@[${'x'.repeat(length)}] <c@d>`), [[`a@${host}`, null, 'c', 'd']])
})

test('a list of more addresses than the limit is cut there, and its group is closed', () => {
  assert.equal(parse('a@b,'.repeat(MAX_ADDRESSES + 10)).length, MAX_ADDRESSES)
  const group = parse(`g: ${'a@b,'.repeat(MAX_ADDRESSES + 10)};`)
  assert.deepEqual(group.at(-1), [null, null, null, null])
})

test('any bytes give entries in which every group that opens is closed', () => {
  const char = fc.constantFrom(...'<>()@,;:"\\[]. \r\nab=?é')
  fc.assert(
    fc.property(fc.array(char, { maxLength: 40 }), (chars) => {
      let isOpen = false
      for (const [, , mailbox, host] of parse(chars.join(''))) {
        if (host !== null) continue
        assert.equal(mailbox === null, isOpen)
        isOpen = mailbox !== null
      }
      assert.ok(!isOpen)
    }),
    { numRuns: 2_000 }
  )
})

test('well-formed addresses come back as they were put in', () => {
  const word = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+=?^_`{|}~-]{1,8}$/)
  const address = fc.record({
    name: fc.option(fc.stringMatching(/^[ -~]{1,10}$/).filter((name) => name.trim() === name)),
    mailbox: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('.')),
    host: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('.'))
  })
  fc.assert(
    fc.property(fc.array(address, { maxLength: 5 }), (addresses) => {
      const written = addresses.map(({ name, mailbox, host }) =>
        name === null
          ? `${mailbox}@${host}`
          : `"${name.replace(/["\\]/g, '\\$&')}" <${mailbox}@${host}>`
      )
      assert.deepEqual(
        parse(written.join(', ')),
        addresses.map(({ name, mailbox, host }) => [name, null, mailbox, host])
      )
    })
  )
})

test('the plain form has names, addresses and groups without comments', () => {
  const list = parseAddressText('N <u (x)@ (y) d>, root, g: a@b;')
  assert.equal(formatAddresses(list), 'N <u@d>, root, g:, a@b, ;')
})
