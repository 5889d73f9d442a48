import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  compileInternalDate,
  parseDate,
  parseInternalDate
} from '../../../../../src/imap/protocol/values/internal-date.js'
import { failure } from '../../../../helpers/imap-wire.js'

test('a date with time becomes seconds and a zone', () => {
  for (const [text, iso, zoneMinutes] of /** @type {const} */ ([
    ['17-Jul-1996 02:44:25 -0700', '1996-07-17T09:44:25Z', -420],
    [' 1-Jan-2024 10:00:00 +0000', '2024-01-01T10:00:00Z', 0],
    ['1-Jan-2024 10:00:00 -0000', '2024-01-01T10:00:00Z', 0],
    ['01-JAN-2024 10:00:00 +0530', '2024-01-01T04:30:00Z', 330],
    ['29-feb-2024 23:59:59 +1400', '2024-02-29T09:59:59Z', 840],
    ['31-Dec-2016 23:59:60 +0000', '2017-01-01T00:00:00Z', 0],
    ['31-Dec-1969 23:59:59 +0000', '1969-12-31T23:59:59Z', 0],
    ['01-Jan-0001 00:00:00 +0000', '0001-01-01T00:00:00Z', 0],
    ['01-Jan-2024 00:00:00 +2459', '2023-12-30T23:01:00Z', 1499]
  ])) {
    const date = parseInternalDate(text)
    assert.deepEqual(date, { epochSeconds: Date.parse(iso) / 1000, zoneMinutes }, text)
    assert.ok(!Object.is(date.zoneMinutes, -0))
  }
})

test('what is no date with time is refused', () => {
  for (const text of [
    '',
    '17-Jul-1996',
    '17-Jul-1996 02:44:25',
    '0-Jul-1996 02:44:25 +0000',
    '32-Jul-1996 02:44:25 +0000',
    '31-Jun-1996 02:44:25 +0000',
    '29-Feb-2023 02:44:25 +0000',
    '29-Feb-1900 02:44:25 +0000',
    '17-Foo-1996 02:44:25 +0000',
    '17-Jul-96 02:44:25 +0000',
    '17-Jul-1996 24:00:00 +0000',
    '17-Jul-1996 02:60:00 +0000',
    '17-Jul-1996 02:44:61 +0000',
    '17-Jul-1996 02:44:25 +2500',
    '17-Jul-1996 02:44:25 +0060',
    '17-Jul-1996 02:44:25 0000',
    '17-Jul-1996 02:44:25 GMT',
    '17-Jul-1996 2:44:25 +0000',
    '17-Jul-1996 02:44:25 +0000 ',
    'x17-Jul-1996 02:44:25 +0000'
  ])
    assert.throws(() => parseInternalDate(text), failure('BAD_SYNTAX'), text)
})

test('a date with time is written with quotes and a day of two places', () => {
  for (const [iso, zoneMinutes, wire] of /** @type {const} */ ([
    ['2024-01-01T10:00:00Z', 0, '" 1-Jan-2024 10:00:00 +0000"'],
    ['1996-07-17T09:44:25Z', -420, '"17-Jul-1996 02:44:25 -0700"'],
    ['2024-01-01T04:30:09Z', 330, '" 1-Jan-2024 10:00:09 +0530"'],
    ['2024-01-01T04:30:00Z', -5, '" 1-Jan-2024 04:25:00 -0005"'],
    ['0009-12-31T00:00:00Z', 0, '"31-Dec-0009 00:00:00 +0000"']
  ]))
    assert.equal(compileInternalDate({ epochSeconds: Date.parse(iso) / 1000, zoneMinutes }), wire)
})

test('every date of the years 1 to 9998 comes back from the wire', () => {
  const property = fc.property(
    fc.integer({ min: Date.parse('0001-01-03') / 1000, max: Date.parse('9998-12-31') / 1000 }),
    fc.integer({ min: -1499, max: 1499 }),
    (epochSeconds, zoneMinutes) => {
      const date = { epochSeconds, zoneMinutes }
      assert.deepEqual(parseInternalDate(compileInternalDate(date).slice(1, -1)), date)
    }
  )
  fc.assert(property, { numRuns: 1000 })
})

test('a search date is a calendar date', () => {
  assert.deepEqual(parseDate('1-Feb-1994'), { year: 1994, month: 2, day: 1 })
  assert.deepEqual(parseDate('01-feb-1994'), { year: 1994, month: 2, day: 1 })
  assert.deepEqual(parseDate('29-Feb-2024'), { year: 2024, month: 2, day: 29 })
  assert.deepEqual(parseDate('31-Dec-1999'), { year: 1999, month: 12, day: 31 })
  for (const text of [
    '',
    '0-Feb-1994',
    '30-Feb-1994',
    '29-Feb-2023',
    '1-Foo-1994',
    '1-2-1994',
    '1-Feb-94',
    ' 1-Feb-1994',
    '1-Feb-1994 ',
    '001-Feb-1994'
  ])
    assert.throws(() => parseDate(text), failure('BAD_SYNTAX'), text)
})
