import { test } from 'node:test'
import assert from 'node:assert/strict'
import { COMMANDS, parseCommand } from '../../../../../src/imap/protocol/parse/index.js'
import { Receiver } from '../../../../../src/imap/protocol/receiver.js'
import { failure, parseWire, receive, TEST_LIMITS } from '../../../../helpers/imap-wire.js'

const WITHOUT_ARGUMENTS = [
  'CAPABILITY',
  'NOOP',
  'LOGOUT',
  'STARTTLS',
  'CHECK',
  'CLOSE',
  'UNSELECT',
  'EXPUNGE',
  'NAMESPACE',
  'IDLE'
]

test('commands without arguments take none', () => {
  for (const name of WITHOUT_ARGUMENTS) {
    assert.deepEqual(parseWire(name.toLowerCase()), {})
    assert.deepEqual(parseWire(`${name} `), {})
    assert.throws(() => parseWire(`${name} x`), failure('BAD_SYNTAX'))
    assert.throws(() => parseWire(`${name} ()`), failure('BAD_SYNTAX'))
  }
})

test('a parsed command keeps its tag and has its name in upper case', () => {
  const [event] = receive('A1 uid expunge 1\r\n')
  assert.ok(event?.kind === 'command')
  const { tag, name } = parseCommand(event.command, { isUtf8: false })
  assert.deepEqual({ tag, name }, { tag: 'A1', name: 'UID EXPUNGE' })
})

test('unknown commands are told as such, names of Object.prototype among them', () => {
  for (const wire of [
    'FOO',
    'UID',
    'UID NOOP',
    'UID  FETCH 1 (UID)',
    'constructor',
    '__proto__',
    '/ HTTP/1.1',
    'DONE'
  ])
    assert.throws(() => parseWire(wire), failure('UNKNOWN_COMMAND'), wire)
})

test('every command of the table refuses a list where its arguments should be', () => {
  for (const name of Object.keys(COMMANDS))
    assert.throws(() => parseWire(`${name} ((x) y) ((z))`), failure('BAD_SYNTAX'), name)
})

test('LOGIN takes any astring', () => {
  for (const [wire, username, password] of /** @type {const} */ ([
    ['LOGIN alice secret', 'alice', 'secret'],
    ['LOGIN "alice smith" "se\\"cret\\\\"', 'alice smith', 'se"cret\\'],
    ['LOGIN {5+}\r\nalice {8+}\r\nse\r\ncr}t', 'alice', 'se\r\ncr}t'],
    ['LOGIN alice ""', 'alice', ''],
    ['LOGIN alice@example.org pa]ss', 'alice@example.org', 'pa]ss'],
    ['LOGIN älice pässword', 'älice', 'pässword'],
    ['LOGIN NIL NIL', 'NIL', 'NIL']
  ])) {
    const args = parseWire(wire)
    assert.equal(args.username, username)
    assert.equal(args.password.toString(), password)
  }
})

test('LOGIN with too few, too many or other arguments is refused', () => {
  for (const wire of [
    'LOGIN',
    'LOGIN a',
    'LOGIN a b c',
    'LOGIN a (b)',
    'LOGIN a b%',
    'LOGIN a b*',
    'LOGIN "a"b',
    'LOGIN a "b"c',
    'LOGIN(a) b',
    'LOGIN a b\\c'
  ])
    assert.throws(() => parseWire(wire), failure('BAD_SYNTAX'), wire)
})

test('the password of LOGIN lies in memory of its own, and no longer where it was received', () => {
  const [event] = receive('a LOGIN alice "secret"\r\n')
  assert.ok(event?.kind === 'command')
  const command = parseCommand(event.command, { isUtf8: false })
  assert.ok(command.name === 'LOGIN')
  const { password } = command.args
  assert.equal(password.toString(), 'secret')
  assert.equal(password.buffer.byteLength, 6)
  const token = event.command.tokens[1]
  assert.ok(token?.type === 'string')
  assert.deepEqual(token.bytes, Buffer.alloc(6))
})

test('AUTHENTICATE takes a mechanism and perhaps an initial response', () => {
  const plain = parseWire('AUTHENTICATE plain')
  assert.deepEqual(plain, { mechanism: 'PLAIN', initialResponse: null })
  const parsed = parseWire('AUTHENTICATE PLAIN AGFsaWNlAHNlY3JldA==')
  assert.equal(parsed.initialResponse.toString(), '\0alice\0secret')
  assert.equal(parsed.initialResponse.buffer.byteLength, 13)
  assert.equal(parseWire('AUTHENTICATE XOAUTH2 =').initialResponse.length, 0)
  for (const wire of [
    'AUTHENTICATE',
    'AUTHENTICATE "PLAIN"',
    'AUTHENTICATE PLAIN "AGE="',
    'AUTHENTICATE PLAIN AGE',
    'AUTHENTICATE PLAIN == x',
    'AUTHENTICATE PLAIN *',
    'AUTHENTICATE PLAIN (AGE=)',
    'AUTHENTICATE PL%IN'
  ])
    assert.throws(() => parseWire(wire), failure('BAD_SYNTAX'), wire)
})

test('the initial response of AUTHENTICATE no longer lies where it was received', () => {
  const [event] = receive('a AUTHENTICATE PLAIN AGEAYg==\r\n')
  assert.ok(event?.kind === 'command')
  parseCommand(event.command, { isUtf8: false })
  const token = event.command.tokens[1]
  assert.ok(token?.type === 'atom')
  assert.deepEqual(token.bytes, Buffer.alloc(8))
})

for (const line of [
  String.raw`LOGIN alice "se\\cr\"et"`,
  'LOGIN alice secret secret',
  'LOGIN alice (secret (secret))',
  String.raw`LOGIN alice "se\\cret" secret`,
  String.raw`LOGIN alice "secret\s"`,
  'LOGIN alice "secret',
  'AUTHENTICATE PLAIN AHNlY3JldABzZWNyZXQ',
  'AUTHENTICATE PLAIN AHNlY3JldABzZWNy*XQ=',
  'AUTHENTICATE PLAIN "AHNlY3JldABzZWNyZXQ="',
  'AUTHENTICATE PLAIN AHNlY3JldABzZWNyZXQ= x'
]) {
  test(`nothing is left of the secret in ${line}`, (t) => {
    const wire = Buffer.from(`a ${line}\r\n`)
    const from = t.mock.method(Buffer, 'from')
    const receiver = new Receiver(TEST_LIMITS)
    receiver.push(wire)
    const event = receiver.read()
    if (event?.kind === 'command') {
      const parse = () => parseCommand(event.command, { isUtf8: false })
      if (line.endsWith('et"')) {
        const { name, args } = parse()
        assert.ok(name === 'LOGIN')
        assert.equal(args.password.toString(), 'se\\cr"et')
        args.password.fill(0)
      } else assert.throws(parse, failure('BAD_SYNTAX'))
    } else assert.equal(event?.kind, 'error')
    const copies = from.mock.calls.map(({ result }) => /** @type {Buffer} */ (result))
    from.mock.restore()
    assert.doesNotMatch(wire.toString('latin1'), /se[c\\]|cr|et|AHNl|NyZX/)
    for (const copy of copies) assert.ok(!copy.includes('se'))
  })
}

test('ENABLE takes any number of capabilities, unknown ones too', () => {
  assert.deepEqual(parseWire('ENABLE utf8=accept CONDSTORE X-Foo'), {
    capabilities: ['UTF8=ACCEPT', 'CONDSTORE', 'X-FOO']
  })
  for (const wire of ['ENABLE', 'ENABLE "UTF8=ACCEPT"', 'ENABLE (x)'])
    assert.throws(() => parseWire(wire), failure('BAD_SYNTAX'), wire)
})

test('ID takes what clients send, odd values included', () => {
  for (const [wire, expected] of /** @type {[string, [string, string | null][] | null][]} */ ([
    ['ID NIL', null],
    ['ID nil', null],
    ['ID ()', []],
    [
      'ID ("Name" "x" "version" NIL)',
      [
        ['name', 'x'],
        ['version', null]
      ]
    ],
    ['ID ("name" {1+}\r\nx)', [['name', 'x']]],
    ['ID (name x)', [['name', 'x']]],
    ['ID ("name")', [['name', null]]],
    ['ID ("name" "x" "name" "y")', [['name', 'x']]],
    ['ID ("vendor" "Müller")', [['vendor', 'Müller']]],
    ['ID (NIL "x")', [['', 'x']]]
  ])) {
    const { params } = parseWire(wire)
    assert.deepEqual(params === null ? null : [...params], expected, wire)
  }
  for (const wire of [
    'ID',
    'ID x',
    'ID "x"',
    'ID NIL x',
    'ID () x',
    'ID (("a") "b")',
    'ID ("a" ("b"))'
  ])
    assert.throws(() => parseWire(wire), failure('BAD_SYNTAX'), wire)
})

test('ID keeps 30 fields, names of 30 bytes, values of 1,024', () => {
  const fields = Array.from({ length: 31 }, (_, index) => `"k${index}" "v"`).join(' ')
  assert.equal(parseWire(`ID (${fields})`).params.size, 30)
  const [[name, value]] = parseWire(`ID ("${'n'.repeat(31)}" "${'v'.repeat(1025)}")`).params
  assert.deepEqual([name.length, value.length], [30, 1024])
})

test('ENABLE, ID and the rest need spaces between their arguments', () => {
  assert.throws(() => parseWire('ENABLE"x"'), failure('BAD_SYNTAX'))
  assert.throws(() => parseWire('ID("a" "b")'), failure('BAD_SYNTAX'))
  assert.throws(() => parseWire('ID ("a""b")'), failure('BAD_SYNTAX'))
  assert.throws(() => parseWire('LOGIN {1+}\r\nxpass'), failure('BAD_SYNTAX'))
})
