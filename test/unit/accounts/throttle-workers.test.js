/**
 * What several workers know together of logins that failed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Throttle } from '../../../src/accounts/throttle.js'
import { isMailError } from '../../../src/errors.js'
import { ManualClock } from '../../helpers/manual-clock.js'

const isThrottled = (/** @type {unknown} */ error) => isMailError(error, 'THROTTLED')
let counter = 0
const anotherPassword = () => Buffer.from(`wrong ${counter++}`)
/** Three workers that tell each other. */
function setUpWorkers() {
  const clock = new ManualClock()
  const fingerprintKey = Buffer.alloc(32, 3)
  const make = () => new Throttle({ clock, fingerprintKey, exemptAddresses: [] })
  const workers = /** @type {[Throttle, Throttle, Throttle]} */ ([make(), make(), make()])
  for (const worker of workers) {
    worker.onChange = (change) => {
      // As it crosses between processes.
      const told = JSON.parse(JSON.stringify(change))
      for (const other of workers) if (other !== worker) other.note(told)
    }
  }
  return { make, workers, clock }
}

test('who was right at one worker is known to the others, and to one that starts', async () => {
  const { make, workers } = setUpWorkers()
  const [first, second, third] = workers
  const tryOn = (/** @type {Throttle} */ worker, /** @type {string} */ remoteAddress) =>
    worker.admitInTurn({ username: 'ann', remoteAddress, password: anotherPassword() })
  ;(await tryOn(first, '198.51.100.7')).succeed()
  for (let n = 0; n < 20; n++) (await tryOn(second, `192.0.2.${n}`)).fail()
  const fresh = make()
  fresh.adopt(JSON.parse(JSON.stringify(third.state)))
  for (const worker of [first, second, third, fresh]) {
    for (const [remoteAddress, standing, waitMs] of /** @type {const} */ ([
      ['198.51.100.7', 'known', 0],
      ['203.0.113.9', 'stranger', 5000]
    ])) {
      const attempt = await tryOn(worker, remoteAddress)
      attempt.cancel()
      assert.deepEqual([attempt.standing, attempt.waitMs], [standing, waitMs])
    }
  }
})

test('who is right again after failures, or a day later, is so to the other workers too', async () => {
  const { workers, clock } = setUpWorkers()
  const [first, second] = workers
  const tryOn = (/** @type {Throttle} */ worker) =>
    worker.admitInTurn({
      username: 'ann',
      remoteAddress: '198.51.100.7',
      password: anotherPassword()
    })
  ;(await tryOn(first)).succeed()
  for (let n = 0; n < 5; n++) (await tryOn(first)).fail()
  ;(await tryOn(first)).succeed()
  const again = await tryOn(second)
  again.cancel()
  assert.deepEqual([again.standing, again.waitMs], ['known', 0])

  const dayMs = 24 * 60 * 60_000
  for (let day = 0; day < 31; day++) {
    ;(await tryOn(first)).succeed()
    clock.advance(dayMs + 1)
  }
  const later = await tryOn(second)
  later.cancel()
  assert.equal(later.standing, 'known')
})

test('workers that tell each other count as one, and one that starts knows what the others do', async () => {
  const { make, workers } = setUpWorkers()
  const tryOn = (/** @type {Throttle} */ worker, /** @type {string} */ password) =>
    worker.admitInTurn({
      username: 'ann',
      remoteAddress: '192.0.2.1',
      password: Buffer.from(password)
    })
  const [first, second, third] = workers
  // The same wrong password through each of them is one failure.
  for (let n = 0; n < 30; n++) (await tryOn(workers[n % 3] ?? first, 'old')).fail()
  assert.equal((await tryOn(first, 'x')).waitMs, 0)
  let refusals = 0
  for (let n = 0; n < 30; n++) {
    try {
      ;(await tryOn(workers[n % 3] ?? first, `guess ${n}`)).fail()
    } catch {
      refusals++
    }
  }
  assert.ok(refusals >= 18, `${refusals} refused`)
  for (const worker of [first, second, third]) {
    await assert.rejects(tryOn(worker, 'more'), { code: 'THROTTLED' })
  }
  const fresh = make()
  fresh.adopt(JSON.parse(JSON.stringify(second.state)))
  await assert.rejects(tryOn(fresh, 'more'), { code: 'THROTTLED' })
})

test('a worker that starts among others keeps the latest and the most of what they say, and nothing that is forgotten', async () => {
  const clock = new ManualClock()
  const make = () => new Throttle({ clock, exemptAddresses: [] })
  const guess = async (/** @type {Throttle} */ worker, times = 1) => {
    for (let n = 0; n < times; n++) {
      const password = anotherPassword()
      const input = { username: `user${n}`, remoteAddress: '192.0.2.1', password }
      ;(await worker.admitInTurn(input)).fail()
    }
  }
  const minuteMs = 60_000
  const [first, second] = [make(), make()]
  await guess(first, 9)
  clock.advance(58 * minuteMs)
  await guess(second, 3)
  clock.advance(minuteMs)

  const between = make()
  between.adopt(second.state)
  between.adopt(first.state)
  clock.advance(2 * minuteMs)
  await guess(between)
  await assert.rejects(
    guess(between),
    isThrottled,
    'nine were not too long ago for a tenth to count'
  )

  const later = make()
  await guess(later)
  later.adopt(first.state)
  await guess(later, 3)
})

test('what a worker is told ages from when it happened, and counts for nothing where nothing did', async () => {
  const clock = new ManualClock()
  const make = () => new Throttle({ clock, exemptAddresses: [] })
  const attempt = (/** @type {Throttle} */ worker, /** @type {string} */ remoteAddress) =>
    worker.admitInTurn({ username: 'ann', remoteAddress, password: anotherPassword() })
  const [first, later] = [make(), make()]
  ;(await attempt(first, '192.0.2.99')).cancel()
  assert.deepEqual(first.state, { names: [], addresses: [], pairs: [] })
  for (let n = 0; n < 5; n++) (await attempt(first, `192.0.2.${n}`)).fail()
  clock.advance(50 * 60_000)
  later.adopt(first.state)
  const soon = await attempt(later, '192.0.2.99')
  soon.cancel()
  assert.equal(soon.waitMs, 250)
  clock.advance(10 * 60_000 + 1)
  const afterAnHour = await attempt(later, '192.0.2.99')
  afterAnHour.cancel()
  assert.equal(afterAnHour.waitMs, 0)
})

test('a worker that starts is told of a guessed name, however many others have logged in since', async () => {
  const { make, workers } = setUpWorkers()
  const [first] = workers
  const tryOn = (/** @type {Throttle} */ worker, /** @type {string} */ username) =>
    worker.admitInTurn({ username, remoteAddress: '192.0.2.1', password: anotherPassword() })
  for (let n = 0; n < 6; n++) (await tryOn(first, 'ann')).fail()
  for (let n = 0; n < 20_001; n++) (await tryOn(first, `user ${n}`)).succeed()
  const fresh = make()
  fresh.adopt(JSON.parse(JSON.stringify(first.state)))
  for (const worker of [first, fresh]) {
    const attempt = await worker.admitInTurn({
      username: 'ann',
      remoteAddress: '203.0.113.9',
      password: anotherPassword()
    })
    attempt.cancel()
    assert.equal(attempt.waitMs, 500)
  }
})
