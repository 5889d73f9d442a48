import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PressureGuard, boundsOf } from '../../../src/telemetry/pressure.js'

const GiB = 1024 ** 3
/** @type {import('../../../src/telemetry/pressure.js').PressureFigures} */
const WELL = {
  rssBytes: 100,
  heapBytes: 100,
  heapLimitBytes: 1000,
  availableBytes: 1000
}
const BOUNDS = { memoryBytes: 1000, reserveBytes: 100, eventLoopMs: 500 }

/** @param {import('node:test').TestContext} t */
function setUp(t) {
  let figures = WELL
  /** @type {(string | null)[]} */
  const changes = []
  const guard = new PressureGuard({
    bounds: BOUNDS,
    onChange: (pressure) => changes.push(pressure),
    readFigures: () => figures,
    lookMs: 3_600_000
  })
  t.after(() => guard.close())
  const look = (/** @type {Partial<typeof WELL>} */ now = {}, lateMs = 0) => {
    figures = { ...WELL, ...now }
    guard.look(lateMs)
    return guard.pressure
  }
  return { guard, look, changes }
}

/** @type {[import('../../../src/telemetry/pressure.js').Pressure, Partial<typeof WELL>, number][]} */
const OVER = [
  ['memory', { rssBytes: 1001 }, 0],
  ['heap', { heapBytes: 901 }, 0],
  ['machine', { availableBytes: 99 }, 0],
  ['event-loop', {}, 501],
  ['descriptors', { rssBytes: null }, 0]
]

for (const [pressure, figures, lateMs] of OVER) {
  test(`${pressure}: three looks over the bound in a row make it refuse, one peak does not`, (t) => {
    const { look, changes } = setUp(t)
    assert.equal(look(figures, lateMs), null)
    assert.equal(look(figures, lateMs), null)
    assert.equal(look(), null)
    for (const expected of [null, null, pressure]) assert.equal(look(figures, lateMs), expected)
    assert.deepEqual(changes, [pressure])
  })
}

test('it takes sessions again when it has been a tenth below the bound for three looks', (t) => {
  const { look, changes } = setUp(t)
  for (let n = 0; n < 3; n++) look({ rssBytes: 1500 })
  for (let n = 0; n < 10; n++) assert.equal(look({ rssBytes: 950 }), 'memory')
  assert.equal(look({ rssBytes: 890 }), 'memory')
  assert.equal(look({ rssBytes: 890 }), 'memory')
  assert.equal(look({ rssBytes: 950 }), 'memory')
  for (const expected of ['memory', 'memory', null]) {
    assert.equal(look({ rssBytes: 890 }), expected)
  }
  assert.deepEqual(changes, ['memory', null])
})

test('who asks is let in or counted', (t) => {
  const { guard, look } = setUp(t)
  assert.equal(guard.admits(), true)
  for (let n = 0; n < 3; n++) look({ rssBytes: 1500 })
  assert.equal(guard.admits(), false)
  assert.equal(guard.admits(), false)
  assert.deepEqual(guard.figures, { refusing: 1, refused: 2 })
  for (let n = 0; n < 3; n++) look()
  assert.equal(guard.admits(), true)
  assert.deepEqual(guard.figures, { refusing: 0, refused: 2 })
})

test('without a setting the bound is four fifths of the memory, shared by the workers', () => {
  const limits = { memoryBytes: 0, memoryReserveBytes: 0, eventLoopDelayMs: 0 }
  const of = (/** @type {number} */ workers) => boundsOf({ limits, workers, totalBytes: 10 * GiB })
  assert.equal(of(1).memoryBytes, 8 * GiB)
  assert.equal(of(4).memoryBytes, 2 * GiB)
  assert.equal(boundsOf({ limits: { ...limits, memoryBytes: 7 }, workers: 4 }).memoryBytes, 7)
  const here = boundsOf({ limits, workers: 1 }).memoryBytes
  assert.ok(here > 0 && here < Number.MAX_SAFE_INTEGER, String(here))
})

test('what is to be left is no more than a quarter of the memory', () => {
  const limits = { memoryBytes: 0, memoryReserveBytes: GiB, eventLoopDelayMs: 0 }
  const of = (/** @type {number} */ totalBytes) => boundsOf({ limits, workers: 1, totalBytes })
  assert.equal(of(8 * GiB).reserveBytes, GiB)
  assert.equal(of(2 * GiB).reserveBytes, GiB / 2)
})

test('what is set to 0 is not looked at', (t) => {
  const guard = new PressureGuard({
    bounds: { ...BOUNDS, reserveBytes: 0, eventLoopMs: 0 },
    readFigures: () => ({ ...WELL, availableBytes: 0 }),
    lookMs: 3_600_000
  })
  t.after(() => guard.close())
  for (let n = 0; n < 5; n++) guard.look(1e9)
  assert.equal(guard.pressure, null)
})
