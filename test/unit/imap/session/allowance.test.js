import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Allowances } from '../../../../src/imap/session/allowance.js'
import { ManualClock } from '../../../helpers/manual-clock.js'

const NONE = {
  commandsPerMinutePerAccount: 0,
  commandsPerMinutePerAddress: 0,
  bytesPerMinutePerAccount: 0,
  bytesPerMinutePerAddress: 0
}
/** @type {{ remoteAddress: string, accountId: string | null }} */
const ANNA = { remoteAddress: '192.0.2.1', accountId: 'anna' }

/**
 * @param {Partial<typeof NONE>} limits
 * @param {{ shareOf?: (limit: number) => number }} [options]
 */
function setUp(limits, { shareOf = (limit) => limit } = {}) {
  const clock = new ManualClock()
  const allowances = new Allowances({
    limits: { ...NONE, ...limits },
    clock,
    shareOf,
    isExempt: (key) => key === '127.0.0.1'
  })
  const paceOf = (session = ANNA) => {
    const pace = allowances.paceOf(session)
    assert.ok(pace !== null)
    return pace
  }
  return { clock, allowances, paceOf }
}

test('without limits nothing is counted', () => {
  assert.equal(setUp({}).allowances.paceOf(ANNA), null)
})

test('a minute’s worth may come at once, and then as much as the limit says', () => {
  const { clock, paceOf } = setUp({ commandsPerMinutePerAccount: 60 })
  const pace = paceOf()
  for (let n = 0; n < 60; n++) {
    assert.equal(pace.mustWait, false)
    pace.noteCommand()
  }
  assert.equal(pace.mustWait, false)
  pace.noteCommand()
  assert.equal(pace.mustWait, true)
  clock.advance(900)
  assert.equal(pace.mustWait, true)
  clock.advance(101)
  assert.equal(pace.mustWait, false)
})

test('whatever is asked for and when, no more is granted than the limit and what was owed at once', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ size: fc.integer({ min: 1, max: 5000 }), ms: fc.nat(20_000) }), {
        minLength: 1,
        maxLength: 200
      }),
      (steps) => {
        const limit = 6000
        const { clock, allowances, paceOf } = setUp({ bytesPerMinutePerAccount: limit })
        const pace = paceOf()
        const startMs = clock.nowMs()
        let granted = 0
        for (const { size, ms } of steps) {
          if (!pace.mustWait) {
            pace.noteBytes(size)
            granted += size
          }
          const elapsedMs = clock.nowMs() - startMs
          assert.ok(granted <= limit + (limit * elapsedMs) / 60_000 + 5000 + 1e-6)
          clock.advance(ms)
          allowances.tidy()
        }
      }
    )
  )
})

test('all sessions of an account take from one allowance, also one that begins later', () => {
  const { clock, allowances, paceOf } = setUp({ bytesPerMinutePerAccount: 1000 })
  const one = paceOf()
  const elsewhere = paceOf({ remoteAddress: '198.51.100.7', accountId: 'anna' })
  const bert = paceOf({ ...ANNA, accountId: 'bert' })
  one.noteBytes(2000)
  const later = paceOf()
  assert.deepEqual(
    [one, elsewhere, bert, later].map(({ mustWait }) => mustWait),
    [true, true, false, true]
  )
  // Nobody has a session any more.
  for (const pace of [one, elsewhere, later]) pace.release()
  allowances.tidy()
  const again = paceOf()
  assert.equal(again.mustWait, true, 'to come back changes nothing')
  again.release()
  clock.advance(60_000)
  allowances.tidy()
  assert.equal(paceOf().mustWait, false)
})

test('an address has this worker’s share, counts from before the login, and is one for a /64', () => {
  const { paceOf, allowances } = setUp(
    { commandsPerMinutePerAddress: 8 },
    { shareOf: (limit) => limit / 4 }
  )
  const stranger = paceOf({ remoteAddress: '2001:db8::1', accountId: null })
  const neighbour = paceOf({ remoteAddress: '2001:db8::2', accountId: 'anna' })
  for (let n = 0; n < 3; n++) stranger.noteCommand()
  assert.equal(neighbour.mustWait, true)
  assert.equal(paceOf({ remoteAddress: '2001:db8:0:1::2', accountId: null }).mustWait, false)
  assert.equal(allowances.paceOf({ remoteAddress: '127.0.0.1', accountId: null }), null)
})
