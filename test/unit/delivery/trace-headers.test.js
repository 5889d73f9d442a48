import assert from 'node:assert/strict'
import { test } from 'node:test'
import { traceHeaders, wireAddress } from '../../../src/delivery/trace-headers.js'

const FACTS = {
  sender: 'bob@example.net',
  recipient: 'ann+x@example.org',
  clientName: 'mta.example',
  clientAddress: '127.0.0.1',
  serverName: 'mail.example.org',
  transactionId: 'abc.1',
  receivedAtMs: Date.UTC(2024, 1, 9, 3, 4, 5, 678),
  isSecure: false,
  isUtf8: false
}

test('Return-Path, Delivered-To and Received stand before the message, each on CRLF lines', () => {
  assert.equal(
    traceHeaders(FACTS).toString(),
    'Return-Path: <bob@example.net>\r\n' +
      'Delivered-To: ann+x@example.org\r\n' +
      'Received: from mta.example ([127.0.0.1])\r\n' +
      '\tby mail.example.org with LMTP id abc.1;\r\n' +
      '\tFri, 09 Feb 2024 03:04:05 +0000\r\n'
  )
})

test('a bounce has an empty return path', () => {
  assert.match(traceHeaders({ ...FACTS, sender: '' }).toString(), /^Return-Path: <>\r\n/)
})

test('the protocol names TLS and UTF-8', () => {
  for (const [isSecure, isUtf8, name] of [
    [true, false, 'LMTPS'],
    [false, true, 'UTF8LMTP'],
    [true, true, 'UTF8LMTPS']
  ]) {
    const facts = { ...FACTS, isSecure: isSecure === true, isUtf8: isUtf8 === true }
    assert.match(traceHeaders(facts).toString(), new RegExp(` with ${name} id `))
  }
})

test('an IPv6 client is an IPv6 literal', () => {
  assert.match(traceHeaders({ ...FACTS, clientAddress: '::1' }).toString(), /\(\[IPv6:::1\]\)/)
})

test('a client name that is no host name is not repeated', () => {
  for (const clientName of ['a b', 'x(y)', 'ä.example', '', 'x;y', 'a\r\nX: y']) {
    assert.match(traceHeaders({ ...FACTS, clientName }).toString(), /\r\nReceived: from unknown \(/)
  }
})

test('an address stands in the header as it stood on the wire', () => {
  const table = /** @type {[string, boolean, string][]} */ ([
    ['ann@example.org', false, 'ann@example.org'],
    ['ann@müller.example', false, 'ann@xn--mller-kva.example'],
    ['ann@müller.example', true, 'ann@müller.example'],
    ['', false, ''],
    ['postmaster', false, 'postmaster']
  ])
  for (const [address, isUtf8, expected] of table) {
    assert.equal(wireAddress(address, isUtf8), expected)
  }
})
