import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { counters, snapshotCounters } from '../../../src/telemetry/counters.js'
import { DurationHistogram, Histogram, boundsOf } from '../../../src/telemetry/histogram.js'
import { mergeSnapshots } from '../../../src/telemetry/snapshot.js'

test('a value is counted in the first bucket whose bound is not below it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 31 - 1 }),
      fc.integer({ min: 0, max: 8 }),
      (value, firstBits) => {
        const histogram = new Histogram(firstBits)
        histogram.observe(value)
        const bounds = [...boundsOf(firstBits), Infinity]
        const wanted = bounds.findIndex((bound) => value <= bound)
        assert.equal(histogram.snapshot().counts.indexOf(1), wanted)
        assert.equal(histogram.snapshot().sum, value)
      }
    )
  )
})

test('durations are counted in microseconds, however long', () => {
  const histogram = new DurationHistogram()
  for (const ms of [0.001, 0.064, 0.065, 1e9]) histogram.observeMs(ms)
  const { counts } = histogram.snapshot()
  assert.deepEqual([counts[0], counts[1], counts.at(-1)], [2, 1, 1])
})

test('merging adds sums and takes the largest of maxima, in any order', () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 1e6 }), { maxLength: 4 })
  const worker = fc.record({
    sums: fc.record({
      a: fc.integer({ min: 0, max: 1e6 }),
      list: numbers,
      group: fc.dictionary(fc.constantFrom('x', 'y'), fc.integer({ min: 0, max: 1e6 }))
    }),
    maxima: fc.dictionary(fc.constantFrom('p', 'q'), fc.integer({ min: 0, max: 1e6 }))
  })
  fc.assert(
    fc.property(fc.array(worker, { minLength: 1, maxLength: 5 }), (workers) => {
      const merged = mergeSnapshots(workers)
      assert.deepEqual(mergeSnapshots([...workers].reverse()), merged)
      assert.equal(
        merged.sums['a'],
        workers.reduce((sum, { sums }) => sum + sums.a, 0)
      )
      for (const [name, value] of Object.entries(merged.maxima)) {
        assert.equal(value, Math.max(...workers.map(({ maxima }) => maxima[name] ?? -1)))
      }
    })
  )
  assert.throws(() =>
    mergeSnapshots([
      { sums: { a: 1 }, maxima: {} },
      { sums: { a: [1] }, maxima: {} }
    ])
  )
})

test('a snapshot is plain data, and has the commands that were used', () => {
  const slot = counters.commands.slotOf('TEST')
  assert.equal(snapshotCounters().commands['TEST'], undefined)
  counters.commands.record(slot, 'OK', 2)
  counters.commands.record(slot, 'BAD', null)
  const snapshot = snapshotCounters()
  assert.deepEqual(JSON.parse(JSON.stringify(snapshot)), snapshot)
  const { OK, NO, BAD, duration } = /** @type {any} */ (snapshot.commands['TEST'])
  assert.deepEqual([OK, NO, BAD, duration.sum], [1, 0, 1, 2000])
})
