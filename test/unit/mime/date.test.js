import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parseMailDate } from '../../../src/mime/date.js'

/** @type {[string, string | null, number?][]} */
const DATES = [
  ['Thu, 15 Feb 2007 01:02:03 +0200', '2007-02-14T23:02:03Z', 120],
  ['15 Feb 2007 01:02:03 -0330', '2007-02-15T04:32:03Z', -210],
  ['Thu, 15 Feb 2007 01:02 +0000', '2007-02-15T01:02:00Z', 0],
  ['Thu,15  feb\r\n 2007 1:02:03 GMT', '2007-02-15T01:02:03Z', 0],
  ['Wed, 10 Jul 2002 11:18:57 -0400 (EDT)', '2002-07-10T15:18:57Z', -240],
  ['Wed, 11 Feb 98 11:51 CST', '1998-02-11T17:51:00Z', -360],
  ['1 Jan 03 00:00:00 UT', '2003-01-01T00:00:00Z', 0],
  ['1 Jan 103 00:00:00 Z', '2003-01-01T00:00:00Z', 0],
  ['1 Jan 2003 00:00:00 EST', '2003-01-01T05:00:00Z', -300],
  ['1 Jan 2003 00:00:00 A', '2003-01-01T00:00:00Z', 0],
  ['1 Jan 2003 00:00:00', '2003-01-01T00:00:00Z', 0],
  ['1 January 2003 00:00:00 +01:00', '2002-12-31T23:00:00Z', 60],
  ['1-Jan-2003 00:00:00 GMT+0100', '2002-12-31T23:00:00Z', 60],
  ['Mon, 5 Jan 2004 3:04:05 PM +0100', '2004-01-05T14:04:05Z', 60],
  ['Mon, 5 Jan 2004 12:30 PM', '2004-01-05T12:30:00Z', 0],
  ['Mon, 5 Jan 2004 12:30:00 am GMT', '2004-01-05T00:30:00Z', 0],
  ['Mon, 5 Jan 2004 11:30 AM', '2004-01-05T11:30:00Z', 0],
  ['Mon, 5 Jan 2004 15:30 PM', '2004-01-05T15:30:00Z', 0],
  ['31 Dec 2016 23:59:60 +0000', '2016-12-31T23:59:59Z', 0],
  ['Fri Feb 22 17:06:23 2008', '2008-02-22T17:06:23Z', 0],
  ['Fri Feb 22 17:06:23 EST 2008', '2008-02-22T22:06:23Z', -300],
  ['Fri Feb 22 17:06:23 2008 +0100', '2008-02-22T16:06:23Z', 60],
  ['2008-02-22T17:06:23+01:00', '2008-02-22T16:06:23Z', 60],
  ['2008-02-22 17:06:23Z', '2008-02-22T17:06:23Z', 0],
  ['Sat, 1 Jan 2000 00:00:00 +9999', '2000-01-01T00:00:00Z', 0],
  // RFC 5256 §2.2: a time that is missing or invalid is 00:00:00.
  ['1 Jan 2000 24:00:00', '2000-01-01T00:00:00Z', 0],
  ['1 Jan 2000 10:60:00', '2000-01-01T00:00:00Z', 0],
  ['1 Jan 2000 10:00:61', '2000-01-01T00:00:00Z', 0],
  ['Wed, 15 Dec 2010    59:10 -0500', '2010-12-15T05:00:00Z', -300],
  ['Wed, 15 Dec 2010', '2010-12-15T00:00:00Z', 0],
  ['15-Dec-2010 in the morning', '2010-12-15T00:00:00Z', 0],
  ['2010-12-15', '2010-12-15T00:00:00Z', 0],
  ['2010-12-15 5pm', '2010-12-15T00:00:00Z', 0],
  ['2010-13-01', null],
  ['2010-00-10', null],
  ['15 Foo 2010', null],
  ['32 Dec 2010', null],
  ['2010-12-155', null],
  ['32 Jan 2000 00:00:00', null],
  ['1 Foo 2000 00:00:00', null],
  ['', null],
  ['no date', null],
  ['x'.repeat(100_000), null]
]

for (const [text, expected, zoneMinutes] of DATES)
  test(`date ${JSON.stringify(text.slice(0, 50))}`, () => {
    const date = parseMailDate(Buffer.from(text))
    const iso = date && new Date(date.epochSeconds * 1000).toISOString().replace('.000', '')
    assert.equal(iso, expected)
    if (date) assert.equal(date.zoneMinutes, zoneMinutes)
  })

test('zones with a name are those of RFC 5322 §4.3, and some of Europe and Asia', () => {
  const hours = {
    ...{
      UT: 0,
      GMT: 0,
      Z: 0,
      EST: -5,
      EDT: -4,
      CST: -6,
      CDT: -5,
      MST: -7,
      MDT: -6,
      PST: -8,
      PDT: -7
    },
    ...{
      UTC: 0,
      WET: 0,
      BST: 1,
      WEST: 1,
      CET: 1,
      MET: 1,
      CEST: 2,
      MEST: 2,
      EET: 2,
      EEST: 3,
      MSK: 3
    },
    ...{ JST: 9, KST: 9 }
  }
  for (const [zone, hour] of Object.entries(hours))
    assert.equal(
      parseMailDate(Buffer.from(`1 Jan 2003 00:00:00 ${zone}`))?.zoneMinutes,
      hour * 60,
      zone
    )
})

test('every date in the standard form is read exactly', () => {
  const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
  const seconds = fc.integer({ min: -2_000_000_000, max: 9_000_000_000 })
  const zone = fc.integer({ min: -14 * 60, max: 14 * 60 })
  fc.assert(
    fc.property(seconds, zone, (epochSeconds, zoneMinutes) => {
      const local = new Date((epochSeconds + zoneMinutes * 60) * 1000)
      const [, time = ''] = local.toISOString().split(/[T.]/)
      const offset = Math.abs(zoneMinutes)
      const text =
        `${local.getUTCDate()} ${months[local.getUTCMonth()]} ${local.getUTCFullYear()} ${time} ` +
        (zoneMinutes < 0 ? '-' : '+') +
        String(Math.floor(offset / 60)).padStart(2, '0') +
        String(offset % 60).padStart(2, '0')
      assert.deepEqual(parseMailDate(Buffer.from(text)), { epochSeconds, zoneMinutes })
    })
  )
})
