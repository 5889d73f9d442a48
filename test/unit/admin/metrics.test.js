/**
 * Figures of several workers, as Prometheus takes them: what only grows may begin anew, and must not shrink.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { renderMetrics } from '../../../src/admin/metrics.js'
import { noResults } from '../../../src/backup/last-results.js'
import { takeWorkerSnapshot } from '../../../src/admin/worker-snapshot.js'

/** @typedef {import('../../../src/telemetry/snapshot.js').WorkerSnapshot} WorkerSnapshot */

const MAILBOXES = {
  open: 1,
  awake: 1,
  cacheBytes: 0,
  chunkBytes: 0,
  viewBytes: 0,
  idleViewBytes: 0,
  searchThreads: 0,
  searchesWaiting: 0,
  largestWalBytes: 0
}
const MAINTENANCE = {
  maintenanceRunning: 0,
  maintenanceWaiting: 0,
  maintenanceDone: 1,
  maintenanceSkipped: 0,
  maintenanceStopped: 0,
  maintenanceFailed: 0
}
const SURVEY = {
  atMs: 0,
  freeBytes: 1,
  totalBytes: 2,
  diskTrouble: null,
  freeFiles: 1,
  totalFiles: 2,
  spoolFiles: 0,
  spoolBytes: 0,
  oldestSpoolMs: null,
  oldestOpenSpoolMs: null,
  setAside: 0,
  walBytes: 0,
  largestWalBytes: 0,
  directoryWalBytes: 0,
  mailboxes: 0,
  misshapen: 0,
  misshapenIds: [],
  unreadable: 0,
  unreadableIds: [],
  damaged: 0,
  damagedIds: []
}
const EVENT_LOOP = { figures: { p50Ms: 1, p99Ms: 2, maxMs: 3 } }

/**
 * @param {number | null} slot
 * @param {number} logins
 * @returns {WorkerSnapshot}
 */
function workerWith(slot, logins) {
  const snapshot = takeWorkerSnapshot({
    imap: { counts: () => ({ connections: 2, loggedIn: 1, idling: 0, background: 0 }) },
    openAccounts: { figures: MAILBOXES },
    maintenance: { figures: MAINTENANCE },
    eventLoop: /** @type {any} */ (EVENT_LOOP),
    pressure: { figures: { refusing: 0, refused: logins } },
    argon2: { figures: { running: 1, waiting: 3, derivations: logins } },
    slot
  })
  const duration = { counts: [logins, 0], sum: logins }
  const sums = /** @type {any} */ (snapshot.sums)
  sums.logins = { good: logins, refused: 0, throttled: 0, failed: 0 }
  sums.commands = { NOOP: { OK: logins, NO: 0, BAD: 0, duration } }
  return snapshot
}

/**
 * @param {WorkerSnapshot[]} workers
 * @param {Partial<import('../../../src/admin/survey.js').Survey>} [survey]
 * @param {Partial<import('../../../src/backup/backup-list.js').BackupList>} [backups]
 * @returns {Promise<Map<string, number>>} by series
 */
async function seriesOf(workers, survey = {}, backups = {}) {
  const { text } = await renderMetrics({
    workers,
    silentWorkers: 0,
    survey: { ...SURVEY, ...survey },
    backups: {
      isSetUp: false,
      generations: [],
      overdueAtMs: null,
      problem: null,
      notMade: null,
      isReached: true,
      results: noResults(),
      ...backups
    },
    certificates: [],
    totals: {
      accounts: 0,
      tenants: 0,
      usedBytes: 0,
      usedMessages: 0,
      fileBytes: 0,
      freeBytes: 0
    },
    maintenanceFailing: 0,
    nowMs: 0
  })
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    })
  )
}

test('a worker that begins anew takes nothing from what the others have counted', async () => {
  const before = await seriesOf([workerWith(0, 1000), workerWith(1, 500)])
  const after = await seriesOf([workerWith(1, 501), workerWith(0, 3)])
  const grows = /_(total|count|sum|bucket)(\{|$)/
  const series = [...before.keys()].filter((name) => grows.test(name))
  assert.ok(series.length > 20)
  for (const name of series) {
    assert.match(name, /worker="[01]"/, name)
    if (name.includes('worker="0"')) continue
    assert.ok((after.get(name) ?? -1) >= (before.get(name) ?? 0), name)
  }
  const good = (/** @type {number} */ slot) =>
    `letterlock_logins_total{worker="${slot}",outcome="good"}`
  assert.deepEqual([before.get(good(0)), before.get(good(1))], [1000, 500])
  assert.deepEqual([after.get(good(0)), after.get(good(1))], [3, 501])
  assert.equal(after.get('letterlock_sessions'), 2, 'what is now is one figure')
  assert.equal(after.get('letterlock_argon2_running'), 2)
  assert.equal(after.get('letterlock_argon2_waiting'), 6)
})

test('old and new worker of a reload are one; the only worker of a host needs no name', async () => {
  const noops = 'letterlock_command_duration_seconds_count'
  const reload = await seriesOf([workerWith(0, 1000), workerWith(0, 2), workerWith(1, 5)])
  assert.equal(reload.get(`${noops}{worker="0",command="NOOP"}`), 1002)
  assert.equal(reload.get('letterlock_workers'), 3)
  const alone = await seriesOf([workerWith(null, 7)])
  assert.equal(alone.get(`${noops}{command="NOOP"}`), 7)
  assert.equal(alone.get('letterlock_logins_total{outcome="good"}'), 7)
  assert.equal(alone.get('letterlock_argon2_total'), 7)
})

test('the label quantile is left to summaries, of which there are none', async () => {
  const series = await seriesOf([workerWith(null, 7)])
  assert.deepEqual(
    [...series.keys()].filter((name) => name.includes('quantile=')),
    []
  )
  for (const part of ['p50', 'p99', 'max'])
    assert.ok(series.has(`letterlock_event_loop_delay_${part}_seconds`), part)
})

test('the largest write-ahead log may be that of the directory', async () => {
  const wal = { walBytes: 300, largestWalBytes: 200, directoryWalBytes: 900 }
  const series = await seriesOf([workerWith(null, 0)], wal)
  assert.equal(series.get('letterlock_wal_bytes'), 1200)
  assert.equal(series.get('letterlock_wal_largest_bytes'), 900)
  const mail = await seriesOf([workerWith(null, 0)], { ...wal, directoryWalBytes: 100 })
  assert.equal(mail.get('letterlock_wal_largest_bytes'), 200)
})

test('no age is told of backups that cannot be read', async () => {
  const names = ['backups_unreadable', 'backups', 'backup_age_seconds', 'backup_failed_accounts']
  const told = async (/** @type {string | null} */ problem) => {
    const series = await seriesOf([workerWith(0, 0)], {}, { isSetUp: true, problem })
    return names.map((name) => series.get(`letterlock_${name}`))
  }
  assert.deepEqual(await told(null), [0, 0, 0, 0])
  assert.deepEqual(await told('not mounted'), [1, undefined, undefined, undefined])
})

test('a backup of whose run nothing is on record does not pass for one without failures', async () => {
  const figures = { accounts: null, newBytes: null, sharedBytes: null, storedBytes: null }
  const told = async (/** @type {number | null} */ failed) => {
    const generation = { name: 'x', startedAtMs: 0, durationMs: null, ...figures, failed }
    const series = await seriesOf([workerWith(0, 0)], {}, { generations: [generation] })
    return ['backup_unrecorded', 'backup_failed_accounts'].map((name) =>
      series.get(`letterlock_${name}`)
    )
  }
  assert.deepEqual(await told(0), [0, 0])
  assert.deepEqual(await told(2), [0, 2])
  assert.deepEqual(await told(null), [1, undefined])
})

test('what followed the last backup and failed is told', async () => {
  const results = {
    failures: { prune: { code: 'BACKUP_UNREACHABLE' } },
    damaged: [{ id: 'e12b', code: 'BACKUP_DAMAGED' }]
  }
  const series = await seriesOf([workerWith(0, 0)], {}, { isSetUp: true, results })
  assert.equal(series.get('letterlock_backup_jobs_failed'), 1)
  assert.equal(series.get('letterlock_backup_damaged_accounts'), 1)
})

test('every figure that the documents name is there, as they name it', async () => {
  const series = await seriesOf([workerWith(null, 7)])
  const known = new Set([...series.keys()].map((name) => name.replace(/\{.*/, '')))
  const text = ['admin', 'operations']
    .map((page) => readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8'))
    .join('')
  const named = new Set(text.match(/\bletterlock_[a-z0-9_]+/g))
  assert.ok(named.size > 10)
  assert.deepEqual(
    [...named].filter((name) => !known.has(name)),
    []
  )
})
