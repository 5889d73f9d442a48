import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { HostState } from '../../../src/admin/host-state.js'
import { snapshotCounters } from '../../../src/telemetry/counters.js'
import { openTestAccounts } from '../../helpers/accounts.js'

test('points are kept at their interval, whoever looks meanwhile; the last one is of now', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const snapshot = {
    sums: {
      .../** @type {any} */ (snapshotCounters()),
      sessions: { connections: 2, loggedIn: 1, idling: 0 },
      mailboxes: { open: 1 },
      process: { rss: 5 }
    },
    maxima: { eventLoopP99Ms: 3 }
  }
  const state = new HostState({
    workers: async () => [snapshot, snapshot],
    survey: /** @type {any} */ (null),
    backups: {
      list: async () => ({ isSetUp: false, generations: [], overdueAtMs: null, problem: null })
    },
    certificates: () => [],
    services,
    pointMs: 5
  })
  t.after(() => state.close())
  let points = await state.points()
  while (points.length < 6) {
    clock.advance(1)
    await sleep(2)
    points = await state.points()
  }
  const times = points.map(({ atMs }) => atMs)
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b)
  )
  assert.equal(times.at(-1), clock.nowMs())
  assert.deepEqual(
    [points[0]?.sessions, points[0]?.rssBytes, points[0]?.eventLoopP99Ms],
    [2, 10, 3]
  )
})
