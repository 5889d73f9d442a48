/**
 * Each figure of /metrics by its value: alerts go by these, and one that is always 0 says that all is well.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMetrics } from '../../../src/admin/metrics.js'

const NOW_MS = 1_000_000

/** @param {number} first - below 64 µs; one more takes up to 128, and the last has no bound */
const histogram = (first) => ({ counts: [first, 1, ...Array(17).fill(0), 2], sum: 3_000_000 })

const SUMS = {
  workers: 2,
  sessions: { connections: 3, loggedIn: 4, idling: 5, background: 68 },
  pressure: { refusing: 6, refused: 7 },
  argon2: { running: 8, waiting: 9, derivations: 10 },
  commands: { NOOP: { OK: 11, NO: 12, BAD: 13, duration: histogram(14) } },
  logins: { good: 15, refused: 16, throttled: 17, failed: 18 },
  deliveries: { stored: 19, refused: 20, failed: 21, bytes: 22 },
  spool: { drained: 23, setAside: 24 },
  sync: { duration: histogram(25), group: histogram(26), failed: 27 },
  mailboxes: {
    ...{ open: 28, awake: 29, cacheBytes: 30, chunkBytes: 31, viewBytes: 32, idleViewBytes: 33 },
    ...{ searchThreads: 34, searchesWaiting: 35 }
  },
  maintenance: {
    ...{ maintenanceRunning: 36, maintenanceWaiting: 37, maintenanceDone: 38 },
    ...{ maintenanceSkipped: 39, maintenanceStopped: 40, maintenanceFailed: 41 }
  },
  process: { rss: 42, heapUsed: 43, external: 44, cpuSeconds: 45 }
}
const MAXIMA = {
  ...{ eventLoopP50Ms: 46, eventLoopP99Ms: 47, eventLoopMaxMs: 48, uptimeSeconds: 49 }
}
const SURVEY = {
  ...{ atMs: NOW_MS - 50_000, freeBytes: 51, spoolFiles: 52, spoolBytes: 53 },
  ...{ oldestSpoolMs: NOW_MS - 54_000, setAside: 55 },
  ...{ walBytes: 50, largestWalBytes: 5, directoryWalBytes: 6 }
}
const TOTALS = {
  ...{ accounts: 57, tenants: 58, usedBytes: 59, usedMessages: 60, fileBytes: 61, freeBytes: 62 }
}
const BACKUPS = {
  problem: null,
  notMade: 'another host',
  generations: [{ startedAtMs: NOW_MS - 63_000, failed: 64 }, {}, {}],
  results: { failures: { prune: {}, rehearsal: {} }, damaged: [{}, {}, {}] }
}

/**
 * @param {object} [changed]
 * @returns {Promise<Record<string, string>>} by series
 */
async function told(changed = {}) {
  const input = {
    workers: [{ slot: null, sums: SUMS, maxima: MAXIMA }],
    silentWorkers: 65,
    survey: SURVEY,
    backups: BACKUPS,
    certificates: [{ name: 'a.test', endMs: 66_999 }, { endMs: 99_000 }],
    totals: TOTALS,
    maintenanceFailing: 67,
    nowMs: NOW_MS,
    ...changed
  }
  const { text } = await renderMetrics(/** @type {any} */ (input))
  const lines = text.split('\n').filter((line) => line.startsWith('letterlock_'))
  return Object.fromEntries(
    lines.map((line) => line.slice('letterlock_'.length).split(/ (?=\S+$)/))
  )
}

test('each figure is told under its name, in seconds and bytes', async () => {
  const series = Object.entries(await told()).filter(([name]) => !name.includes('_bucket{'))
  assert.deepEqual(Object.fromEntries(series.map(([name, value]) => [name, Number(value)])), {
    ...{ workers: 2, workers_silent: 65, workers_refusing: 6, refused_for_pressure_total: 7 },
    ...{ connections: 3, sessions: 4, sessions_idling: 5, sessions_background: 68 },
    ...{ argon2_total: 10, argon2_running: 8, argon2_waiting: 9 },
    'commands_total{command="NOOP",result="ok"}': 11,
    'commands_total{command="NOOP",result="no"}': 12,
    'commands_total{command="NOOP",result="bad"}': 13,
    'command_duration_seconds_sum{command="NOOP"}': 3,
    'command_duration_seconds_count{command="NOOP"}': 17,
    'logins_total{outcome="good"}': 15,
    'logins_total{outcome="refused"}': 16,
    'logins_total{outcome="throttled"}': 17,
    'logins_total{outcome="failed"}': 18,
    'deliveries_total{outcome="stored"}': 19,
    'deliveries_total{outcome="refused"}': 20,
    'deliveries_total{outcome="failed"}': 21,
    ...{ delivered_bytes_total: 22, spool_drained_total: 23, spool_set_aside_total: 24 },
    ...{ sync_duration_seconds_sum: 3, sync_duration_seconds_count: 28 },
    ...{ sync_commits_sum: 3_000_000, sync_commits_count: 29, sync_failures_total: 27 },
    ...{ mailboxes_open: 28, mailboxes_awake: 29, cache_granted_bytes: 30 },
    ...{ chunk_cache_bytes: 31, view_bytes: 32, idle_view_bytes: 33 },
    ...{ search_threads: 34, searches_waiting: 35 },
    ...{ maintenance_running: 36, maintenance_waiting: 37, maintenance_failing: 67 },
    'maintenance_jobs_total{result="done"}': 38,
    'maintenance_jobs_total{result="skipped"}': 39,
    'maintenance_jobs_total{result="stopped"}': 40,
    'maintenance_jobs_total{result="failed"}': 41,
    ...{ resident_bytes: 42, heap_bytes: 43, cpu_seconds_total: 45, uptime_seconds: 49 },
    event_loop_delay_p50_seconds: 0.046,
    event_loop_delay_p99_seconds: 0.047,
    event_loop_delay_max_seconds: 0.048,
    ...{ accounts: 57, tenants: 58, used_bytes: 59, used_messages: 60 },
    ...{ file_bytes: 61, file_free_bytes: 62, disk_free_bytes: 51 },
    ...{ spool_messages: 52, spool_bytes: 53, spool_oldest_seconds: 54, spool_set_aside: 55 },
    ...{ wal_bytes: 56, wal_largest_bytes: 6, survey_age_seconds: 50 },
    ...{ certificate_end_timestamp_seconds: 66 },
    ...{ backups_unreadable: 0, backups_of_another_host: 1, backups: 3, backup_age_seconds: 63 },
    ...{ backup_damaged_accounts: 3, backup_jobs_failed: 2 },
    ...{ backup_unrecorded: 0, backup_failed_accounts: 64 }
  })
})

test('buckets count all that took no longer, in seconds, and the last one counts all', async () => {
  const series = await told()
  const buckets = (/** @type {string} */ name) =>
    Object.entries(series)
      .filter(([key]) => key.startsWith(`${name}_bucket{`))
      .map(([key, value]) => [/le="([^"]+)"/.exec(key)?.[1], Number(value)])
  const durations = buckets('sync_duration_seconds')
  assert.deepEqual(durations.slice(0, 3), [
    ['0.000064', 25],
    ['0.000128', 26],
    ['0.000256', 26]
  ])
  assert.deepEqual(durations.slice(-2), [
    ['16.777216', 26],
    ['+Inf', 28]
  ])
  assert.deepEqual(buckets('sync_commits').slice(0, 2), [
    ['1', 26],
    ['2', 27]
  ])
})

test('what is younger than now has no age, and what is not there neither', async () => {
  const early = await told({ nowMs: 0, certificates: [] })
  const names = ['survey_age_seconds', 'spool_oldest_seconds', 'backup_age_seconds']
  assert.deepEqual(
    [...names, 'certificate_end_timestamp_seconds'].map((name) => early[name]),
    ['0', '0', '0', '0']
  )
  const none = await told({
    survey: { ...SURVEY, oldestSpoolMs: null },
    backups: { ...BACKUPS, generations: [], notMade: null }
  })
  assert.deepEqual(
    [...names.slice(1), 'backups', 'backups_of_another_host'].map((name) => none[name]),
    ['0', '0', '0', '0']
  )
})
