import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parseProxyHeader } from '../../../src/support/proxy-header.js'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'

/**
 * @param {number} command
 * @param {number} family
 * @param {Buffer} body
 */
function versionTwo(command, family, body) {
  const head = Buffer.from(`${SIGNATURE}\0\0\0\0`, 'latin1')
  head.writeUInt8(command, 12)
  head.writeUInt8(family, 13)
  head.writeUInt16BE(body.length, 14)
  return Buffer.concat([head, body])
}

const IPV4 = Buffer.from([192, 0, 2, 1, 198, 51, 100, 2, 0xd4, 0x31, 0x03, 0xe1])
const IPV6 = Buffer.concat([
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.from('20010db8000000000000000000000002', 'hex'),
  Buffer.from([0xd4, 0x31, 0x03, 0xe1])
])

const MAPPED = Buffer.concat([
  Buffer.from('00000000000000000000ffffc0000201', 'hex'),
  Buffer.from('00000000000000000000ffffc6336402', 'hex'),
  Buffer.from([0xd4, 0x31, 0x03, 0xe1])
])

/** @type {[string, Buffer, string | null][]} */
const GOOD = [
  ['1, IPv4', Buffer.from('PROXY TCP4 192.0.2.1 198.51.100.2 54321 993\r\n'), '192.0.2.1'],
  ['1, IPv6', Buffer.from('PROXY TCP6 2001:db8::1 2001:db8::2 54321 993\r\n'), '2001:db8::1'],
  [
    '1, IPv4 within IPv6',
    Buffer.from('PROXY TCP6 0:0:0:0:0:FFFF:192.0.2.1 ::ffff:198.51.100.2 54321 993\r\n'),
    '192.0.2.1'
  ],
  ['1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), null],
  ['1, unknown with words', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'), null],
  ['2, IPv4', versionTwo(0x21, 0x11, IPV4), '192.0.2.1'],
  ['2, IPv6', versionTwo(0x21, 0x21, IPV6), '2001:db8::1'],
  ['2, IPv4 within IPv6', versionTwo(0x21, 0x21, MAPPED), '192.0.2.1'],
  ['2, with TLVs', versionTwo(0x21, 0x11, Buffer.concat([IPV4, Buffer.alloc(60, 4)])), '192.0.2.1'],
  ['2, the balancer itself', versionTwo(0x20, 0x00, Buffer.alloc(0)), null],
  ['2, the balancer itself, with addresses', versionTwo(0x20, 0x11, IPV4), null],
  ['2, a unix socket', versionTwo(0x21, 0x31, Buffer.alloc(216)), null]
]

for (const [name, header, address] of GOOD) {
  test(`version ${name}: read whole, incomplete while a byte is missing, nothing behind it taken`, () => {
    const bytes = Buffer.concat([header, Buffer.from('a1 NOOP\r\n')])
    assert.deepEqual(parseProxyHeader(bytes), { size: header.length, address })
    assert.deepEqual(parseProxyHeader(header), { size: header.length, address })
    for (let size = 0; size < header.length; size++) {
      assert.equal(parseProxyHeader(header.subarray(0, size)), 'incomplete', String(size))
    }
  })
}

/** @type {[string, Buffer][]} */
const BAD = [
  ['an IMAP command', Buffer.from('a1 LOGIN x y\r\n')],
  ['a TLS record', Buffer.from('16030100c8', 'hex')],
  ['an IPv6 address as TCP4', Buffer.from('PROXY TCP4 ::1 ::2 1 2\r\n')],
  ['an IPv4 address as TCP6', Buffer.from('PROXY TCP6 192.0.2.1 2001:db8::2 1 2\r\n')],
  ['a client without an address', Buffer.from('PROXY TCP4 - 192.0.2.2 1 2\r\n')],
  ['no ports', Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2\r\n')],
  ['a port too many', Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n')],
  ['a port that is none', Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n')],
  ['an unknown family', Buffer.from('PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n')],
  ['a line without end', Buffer.from(`PROXY TCP4 ${'1'.repeat(120)}`)],
  ['version 3', versionTwo(0x31, 0x11, IPV4)],
  ['another command', versionTwo(0x22, 0x11, IPV4)],
  ['addresses cut short', versionTwo(0x21, 0x11, IPV4.subarray(0, 11))],
  ['IPv6 addresses cut short', versionTwo(0x21, 0x21, IPV6.subarray(0, 35))],
  ['a length that no balancer sends', versionTwo(0x21, 0x11, Buffer.alloc(5000))]
]

for (const [name, bytes] of BAD) {
  test(`${name} is no header`, () => assert.equal(parseProxyHeader(bytes), 'invalid'))
}

test('no bytes make the parser throw, and an address that it gives is one', () => {
  const start = fc.constantFrom(
    '',
    'PROXY ',
    'PROXY TCP4 ',
    SIGNATURE,
    `${SIGNATURE}\x21\x11\0\x0c`
  )
  fc.assert(
    fc.property(start, fc.uint8Array({ maxLength: 200 }), (text, tail) => {
      const parsed = parseProxyHeader(Buffer.concat([Buffer.from(text, 'latin1'), tail]))
      if (typeof parsed === 'object' && parsed.address !== null) {
        assert.match(parsed.address, /^[0-9a-f:.]+$/i)
      }
    })
  )
})
