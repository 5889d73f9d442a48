import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Throttle } from '../../../src/accounts/throttle.js'
import { isMailError } from '../../../src/errors.js'
import { ManualClock } from '../../helpers/manual-clock.js'

const isThrottled = (/** @type {unknown} */ error) => isMailError(error, 'THROTTLED')
let counter = 0
const anotherPassword = () => Buffer.from(`wrong ${counter++}`)

/**
 * @param {string[]} [exemptAddresses]
 */
function setUp(exemptAddresses) {
  const clock = new ManualClock()
  const throttle = new Throttle({
    clock,
    defaultDomain: 'example.org',
    ...(exemptAddresses && { exemptAddresses })
  })
  const fail = async (
    /** @type {string} */ username,
    /** @type {string | null} */ remoteAddress,
    password = anotherPassword()
  ) => {
    const attempt = await throttle.admitInTurn({ username, remoteAddress, password })
    attempt.fail()
    return attempt.waitMs
  }
  const succeed = async (/** @type {string} */ username, /** @type {string} */ remoteAddress) => {
    const password = Buffer.from('right')
    const attempt = await throttle.admitInTurn({ username, remoteAddress, password })
    attempt.succeed()
    return attempt.waitMs
  }
  return { clock, throttle, fail, succeed }
}

test('the wait for a name grows with its failures from anywhere, up to a few seconds', async () => {
  const { fail } = setUp()
  const waits = []
  for (let index = 0; index < 14; index++) waits.push(await fail('anna', `192.0.2.${index}`))
  assert.deepEqual(waits, [0, 0, 0, 0, 0, 250, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
})

test('no other way to write a name makes it another one', async () => {
  const { fail } = setUp()
  const ways = [
    'anna',
    'ANNA',
    'anna+1',
    'anna+2@example.org',
    '"anna"@Example.org',
    'anna+@example.org.',
    'anna+3@example.org',
    'Anna+ä@EXAMPLE.ORG'
  ]
  const waits = []
  for (const [index, name] of ways.entries()) waits.push(await fail(name, `192.0.2.${index}`))
  assert.deepEqual(waits, [0, 0, 0, 0, 0, 250, 500, 1000])
  assert.equal(await fail('anna@example.com', '198.51.100.1'), 0)
  for (const name of ['an na', 'anna@', '@', '', '+1'])
    assert.equal(await fail(name, '198.51.100.1'), 0, 'what is no address is a name all the same')
})

test('strangers cannot lock a name: the owner waits at a new place, and not at a known one', async () => {
  const { fail, succeed } = setUp()
  assert.equal(await succeed('anna', '198.51.100.7'), 0)
  for (let index = 0; index < 250; index++) await fail('anna', `192.0.2.${index}`)
  assert.equal(await succeed('anna', '203.0.113.9'), 5000)
  assert.equal(await succeed('anna', '198.51.100.7'), 0)
})

test('an address is refused for a growing time after its failures', async () => {
  const { clock, fail } = setUp()
  for (let index = 0; index < 10; index++) await fail(`name${index}`, '192.0.2.1')
  await assert.rejects(fail('other', '192.0.2.1'), isThrottled)
  clock.advance(999)
  await assert.rejects(fail('other', '192.0.2.1'), isThrottled)
  clock.advance(1)
  await fail('other', '192.0.2.1')
  clock.advance(1999)
  await assert.rejects(fail('other', '192.0.2.1'), isThrottled)
  clock.advance(1)
  for (let index = 0; index < 20; index++) {
    await fail('other', '192.0.2.1')
    clock.advance(15 * 60_000)
  }
  await fail('elsewhere', '192.0.2.2')
})

test('a clock that is set back does not keep an address refused until it is that late again', async () => {
  const { clock, fail } = setUp()
  for (let index = 0; index < 10; index++) await fail(`name${index}`, '192.0.2.1')
  await assert.rejects(fail('other', '192.0.2.1'), isThrottled)
  clock.advance(-24 * 60 * 60_000)
  await fail('other', '192.0.2.1')
  await assert.rejects(fail('other', '192.0.2.1'), isThrottled)
  clock.advance(2000)
  await fail('other', '192.0.2.1')
})

test('what was seen while the clock was ahead does not count for as long as that', async () => {
  const { clock, fail, succeed } = setUp()
  const yearMs = 365 * 24 * 60 * 60_000
  clock.advance(yearMs)
  for (let index = 0; index < 9; index++) await fail('anna', `192.0.2.${index}`)
  await succeed('ben', '198.51.100.7')
  clock.advance(-yearMs)
  assert.equal(await succeed('anna', '203.0.113.9'), 4000)
  clock.advance(60 * 60_000 + 1)
  assert.equal(await succeed('anna', '203.0.113.10'), 0)
  // Of whom it is known that they were right there for a month, not for a year and a month.
  for (let index = 0; index < 10; index++) await fail(`name${index}`, '198.51.100.7')
  await assert.rejects(succeed('ben', '198.51.100.7'), isThrottled)
})

test('a neighbour behind the same router does not keep the owner out', async () => {
  const { fail, succeed } = setUp()
  await succeed('anna', '192.0.2.1')
  for (let index = 0; index < 10; index++) await fail(`name${index}`, '192.0.2.1')
  await assert.rejects(fail('someone', '192.0.2.1'), isThrottled)
  assert.equal(await succeed('anna', '192.0.2.1'), 0)
})

/** @param {Throttle} throttle */
const admitAnother = (throttle) =>
  throttle.admitInTurn({
    username: 'anna',
    remoteAddress: '192.0.2.1',
    password: anotherPassword()
  })

test('attempts side by side count as failures while they are checked', async () => {
  const { throttle } = setUp()
  const admit = () => admitAnother(throttle)
  const attempts = await Promise.all(Array.from({ length: 11 }, admit))
  assert.ok(/** @type {number} */ (attempts.at(-1)?.waitMs) > 0)
  const next = admit()
  assert.equal(await Promise.race([next, turn('still waits')]), 'still waits')
  for (const attempt of attempts) attempt.cancel()
  assert.equal((await next).waitMs, 0)
})

test('who was right from a place and is wrong there again and again no longer goes first', async () => {
  const { clock, throttle, fail, succeed } = setUp()
  const admit = async (password = anotherPassword()) => {
    const attempt = await throttle.admitInTurn({
      username: 'anna',
      remoteAddress: '192.0.2.1',
      password
    })
    return attempt
  }
  await succeed('anna', '192.0.2.1')
  const right = Buffer.from('right')
  const sessions = await Promise.all(Array.from({ length: 20 }, () => admit(right)))
  const firstAndOthers = [...Array(5).fill('known'), ...Array(15).fill('guessing')]
  const standingsOf = (/** @type {import('../../../src/accounts/throttle.js').Attempt[]} */ all) =>
    all.map(({ standing }) => standing)
  // Where the first is right, the others need no check; where it is wrong, each costs one.
  assert.deepEqual(standingsOf(sessions), firstAndOthers)
  for (const session of sessions) session.succeed()
  const oneMore = await admit(right)
  assert.equal(oneMore.standing, 'known')
  oneMore.succeed()

  const guesses = await Promise.all(Array.from({ length: 20 }, () => admit()))
  assert.deepEqual(standingsOf(guesses), firstAndOthers)
  for (const guess of guesses) guess.cancel()
  const old = Buffer.from('the old password')
  const phone = await admit(old)
  assert.equal(phone.standing, 'known')
  phone.fail()
  const again = await admit(old)
  assert.equal(again.standing, 'guessing')
  again.fail()
  for (let times = 0; times < 5; times++) await fail('anna', '192.0.2.1')
  const late = await admit()
  assert.equal(late.standing, 'guessing')
  late.cancel()
  clock.advance(60 * 60_000 + 1)
  assert.equal((await admit()).standing, 'known')
})

test('the connections that a mail program opens at once do not wait for each other', async () => {
  const { throttle, fail } = setUp()
  // One mistyped password more, and each attempt waits.
  for (let index = 0; index < 4; index++) await fail('anna', '192.0.2.1')
  const input = { username: 'anna', remoteAddress: '192.0.2.1', password: Buffer.from('right') }
  const logIn = async () => {
    const attempt = await throttle.admitInTurn(input)
    await turn()
    attempt.succeed()
    return attempt.waitMs
  }
  const waitsMs = await Promise.all(Array.from({ length: 40 }, logIn))
  assert.deepEqual(new Set(waitsMs), new Set([0]))
})

test('an office that logs in at once is let in, ten at a time', async () => {
  const { throttle } = setUp()
  let underWay = 0
  let most = 0
  const logIn = async (/** @type {number} */ nth) => {
    const password = Buffer.from(`right ${nth}`)
    const input = { username: `user${nth}`, remoteAddress: '192.0.2.1', password }
    const attempt = await throttle.admitInTurn(input)
    most = Math.max(most, ++underWay)
    await turn()
    underWay--
    attempt.succeed()
    return attempt.waitMs
  }
  const waitsMs = await Promise.all(Array.from({ length: 500 }, (_, nth) => logIn(nth)))
  assert.deepEqual(new Set(waitsMs), new Set([0]))
  assert.equal(most, 11)
})

test('of guesses that come at once those in the queue are refused as soon as the first were wrong', async () => {
  const { throttle } = setUp()
  let checked = 0
  const guess = async (/** @type {number} */ nth) => {
    const input = { username: `user${nth}`, remoteAddress: '192.0.2.1' }
    const attempt = await throttle.admitInTurn({ ...input, password: anotherPassword() })
    checked++
    await turn()
    attempt.fail()
  }
  const outcomes = await Promise.allSettled(Array.from({ length: 1200 }, (_, nth) => guess(nth)))
  assert.equal(checked, 11)
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert.equal(refused.length, 1189)
  assert.ok(refused.every(({ reason }) => isThrottled(reason)))
  // Nothing is left behind: a neighbour who comes later is told at once.
  const later = { username: 'anna', remoteAddress: '192.0.2.1', password: Buffer.from('right') }
  await assert.rejects(throttle.admitInTurn(later), isThrottled)
})

test('while one guess of an address is checked after a hold, the others from there wait for it', async () => {
  const { clock, throttle, fail } = setUp()
  for (let nth = 0; nth < 10; nth++) await fail(`user${nth}`, '192.0.2.1')
  clock.advance(60_000)
  const input = { username: 'anna', remoteAddress: '192.0.2.1' }
  const first = await throttle.admitInTurn({ ...input, password: anotherPassword() })
  const right = { ...input, password: Buffer.from('right') }
  const second = throttle.admitInTurn(right)
  first.cancel()
  const { succeed } = await second
  const third = throttle.admitInTurn({ ...input, username: 'bert', password: anotherPassword() })
  succeed()
  const { fail: failThird } = await third
  failThird()
})

test('a thousand attempts of an address wait for those before them, and the next is refused at once', async () => {
  const { throttle } = setUp()
  const admit = () => admitAnother(throttle)
  const begun = await Promise.all(Array.from({ length: 11 }, admit))
  const waiting = Array.from({ length: 1000 }, async () => (await admit()).cancel())
  const oneMore = admit().catch((error) => error)
  assert.ok(isThrottled(await Promise.race([oneMore, turn('still waits')])))
  for (const attempt of begun) attempt.cancel()
  await Promise.all(waiting)
})

test('an attempt ends once', async () => {
  const { throttle } = setUp()
  const attempt = await throttle.admitInTurn({
    username: 'anna',
    remoteAddress: '192.0.2.1',
    password: Buffer.from('x')
  })
  attempt.fail()
  assert.throws(() => attempt.succeed(), /over already/)
})

test('the same wrong password again is not counted: a phone that was not told the new one', async () => {
  const { fail, succeed } = setUp()
  const old = Buffer.from('the old password')
  for (let index = 0; index < 500; index++) assert.equal(await fail('anna', '192.0.2.1', old), 0)
  assert.equal(await succeed('anna', '192.0.2.1'), 0)
})

test('phones that were not told the new password keep no newcomer out, however many there are, and for how long', async () => {
  const { clock, fail, succeed } = setUp()
  for (let hour = 0; hour < 24; hour++) {
    for (let phone = 0; phone < 8; phone++) {
      await fail(`user${phone}`, '192.0.2.1', Buffer.from(`old ${phone}`))
      clock.advance(8 * 60_000)
    }
  }
  assert.equal(await succeed('anna', '192.0.2.1'), 0)
})

test('failures are forgotten after an hour of quiet', async () => {
  const { clock, fail } = setUp()
  for (let index = 0; index < 10; index++) await fail('anna', '192.0.2.1')
  clock.advance(60 * 60_000 + 1)
  assert.equal(await fail('anna', '192.0.2.1'), 0)
})

test('of more names than are remembered those that were tried longest ago are forgotten', async () => {
  const { clock, throttle, fail, succeed } = setUp()
  for (let n = 0; n < 6; n++) await fail('anna', `192.0.2.${n}`)
  await succeed('carl', '203.0.113.1')
  throttle.remember({ username: 'dora', remoteAddress: '203.0.113.1', atMs: clock.nowMs() })
  for (let n = 0; n < 100_000; n++) {
    if (n === 50_000) for (let m = 0; m < 6; m++) await fail('bert', `198.51.100.${m}`)
    throttle.note({ nameKey: `of another worker ${n}`, place: '203.0.113.1', fingerprint: 'x' })
  }
  assert.equal(await fail('bert', '192.0.2.77'), 500)
  assert.equal(await fail('anna', '192.0.2.77'), 0)
  // Who was right from somewhere is not: all those guesses came from there.
  await assert.rejects(succeed('emil', '203.0.113.1'), isThrottled)
  for (const known of ['carl', 'dora']) assert.equal(await succeed(known, '203.0.113.1'), 0)
})

test('exempt addresses are not counted, loopback by default, blocks too', async () => {
  const byDefault = setUp()
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', null]) {
    for (let index = 0; index < 50; index++) assert.equal(await byDefault.fail('anna', address), 0)
  }
  const configured = setUp(['10.0.0.0/8', '2001:db8::/32'])
  for (let index = 0; index < 50; index++) {
    assert.equal(await configured.fail('anna', '10.200.3.4'), 0)
    assert.equal(await configured.fail('anna', '2001:db8:ffff::1'), 0)
  }
  for (let index = 0; index < 10; index++) await configured.fail('anna', '127.0.0.1')
  await assert.rejects(configured.fail('anna', '127.0.0.1'), isThrottled)
})

test('an exempt address that is none stops the start', () => {
  assert.throws(
    () => new Throttle({ clock: new ManualClock(), exemptAddresses: ['localhost'] }),
    (error) => isMailError(error, 'CONFIG_INVALID')
  )
})

test('case does not make another name of it', async () => {
  const { fail } = setUp()
  for (let index = 0; index < 5; index++) await fail('anna', `192.0.2.${index}`)
  assert.equal(await fail('ANNA', '192.0.2.99'), 250)
})
