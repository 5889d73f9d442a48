/**
 * /metrics for Prometheus. The figures are counted elsewhere, in plain numbers; here they get names, labels and help, at
 * the time of a scrape and from one snapshot, so that one answer fits together.
 *
 * Counters have a sample for each worker: they begin at 0 with their worker, and a sum over workers would shrink when one of
 * them starts anew. Prometheus takes that for a restart of the whole, and would count all of it once more.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import { DURATION_BITS, boundsOf } from '../telemetry/histogram.js'
import { mergeBySlot, mergeSnapshots } from '../telemetry/snapshot.js'

/** @import { WorkerSnapshot } from '../telemetry/snapshot.js' */
/** @import { HistogramSnapshot } from '../telemetry/histogram.js' */
/** @import { Survey } from './survey.js' */
/** @import { BackupList } from '../backup/backup-list.js' */

/**
 * @typedef {object} MetricsInput
 * @property {WorkerSnapshot[]} workers - one for each that answers
 * @property {number} silentWorkers - the others
 * @property {Survey} survey
 * @property {BackupList} backups
 * @property {import('../support/certificates.js').CertificateEnd[]} certificates - the first one first
 * @property {{ accounts: number, tenants: number, usedBytes: number, usedMessages: number, fileBytes: number, freeBytes: number }} totals
 * @property {number} maintenanceFailing
 * @property {number} nowMs
 */

/** @typedef {{ OK: number, NO: number, BAD: number, duration: HistogramSnapshot }} CommandCounts */

const PREFIX = 'letterlock_'
const MICROSECONDS = 1e-6

/**
 * @typedef {object} HistogramRow
 * @property {Record<string, string>} labels
 * @property {HistogramSnapshot} histogram
 */

/**
 * What prom-client asks of a metric, made from counts that exist already.
 *
 * @param {object} input
 * @param {string} input.name
 * @param {string} input.help
 * @param {number} input.firstBits - of the histograms
 * @param {number} input.unit - what 1 in the histograms is in the metric's unit
 * @param {HistogramRow[]} input.rows
 * @returns {any}
 */
function histogramMetric({ name, help, firstBits, unit, rows }) {
  const bounds = boundsOf(firstBits).map((bound) => Number((bound * unit).toPrecision(12)))
  const values = rows.flatMap(({ labels, histogram }) => {
    let total = 0
    const buckets = histogram.counts.map((count, index) => {
      total += count
      const le = bounds[index] ?? '+Inf'
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: histogram.sum * unit },
      { metricName: `${name}_count`, labels, value: total }
    ]
  })
  return { name, get: async () => ({ name, help, type: 'histogram', values }) }
}

/**
 * @param {MetricsInput} input
 * @returns {Promise<{ contentType: string, text: string }>}
 */
export async function renderMetrics(input) {
  const registry = new Registry()
  const registers = [registry]
  const gauge = (
    /** @type {string} */ name,
    /** @type {string} */ help,
    /** @type {number} */ value
  ) => new Gauge({ name: `${PREFIX}${name}`, help, registers }).set(value)
  const bySlot = [...mergeBySlot(input.workers)].map(([slot, { sums }]) => ({
    labels: slot === null ? {} : { worker: String(slot) },
    counts: /** @type {any} */ (sums)
  }))
  const counters = (
    /** @type {string} */ name,
    /** @type {string} */ help,
    /** @type {string} */ label,
    /** @type {(counts: any) => Record<string, number>} */ read
  ) => {
    const labelNames = ['worker', ...(label === '' ? [] : [label])]
    const metric = new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers })
    for (const { labels, counts } of bySlot) {
      for (const [key, value] of Object.entries(read(counts))) {
        metric.inc(label === '' ? labels : { ...labels, [label]: key }, value)
      }
    }
  }
  const counter = (
    /** @type {string} */ name,
    /** @type {string} */ help,
    /** @type {(counts: any) => number} */ read
  ) => counters(name, help, '', (counts) => ({ all: read(counts) }))

  const { sums, maxima } = mergeSnapshots(input.workers)
  const {
    sessions,
    mailboxes,
    maintenance,
    pressure,
    argon2,
    process: usage
  } = /** @type {any} */ (sums)
  gauge('workers', 'Processes that serve.', Number(sums['workers'] ?? 0))
  gauge('workers_silent', 'Others, which answer nothing.', input.silentWorkers)
  gauge(
    'workers_refusing',
    'Of those that serve, processes that take no new sessions.',
    pressure.refusing
  )
  counter(
    'refused_for_pressure_total',
    'Connections that were refused so.',
    (counts) => counts.pressure.refused
  )
  gauge('connections', 'Open IMAP connections.', sessions.connections)
  gauge('sessions', 'IMAP sessions that are logged in.', sessions.loggedIn)
  gauge('sessions_idling', 'Of these, sessions in IDLE.', sessions.idling)
  gauge(
    'sessions_background',
    'Of these, downloads of iOS Mail in the background.',
    sessions.background
  )
  addCommands(registry, bySlot)
  counters('logins_total', 'Login attempts by outcome.', 'outcome', ({ logins }) => logins)
  counter(
    'argon2_total',
    'Derivations of keys from passwords, wrong ones included.',
    (counts) => counts.argon2.derivations
  )
  gauge('argon2_running', 'Of these, under way.', argon2.running)
  gauge('argon2_waiting', 'Logins and others that wait for their derivation.', argon2.waiting)
  counters(
    'deliveries_total',
    'Recipients of LMTP by outcome.',
    'outcome',
    ({ deliveries: { bytes: _, ...outcomes } }) => outcomes
  )
  counter(
    'delivered_bytes_total',
    'Bytes of stored mail, once for each recipient.',
    ({ deliveries }) => deliveries.bytes
  )
  counter(
    'spool_drained_total',
    'Sealed messages taken into their mailbox.',
    ({ spool }) => spool.drained
  )
  counter(
    'spool_set_aside_total',
    'Sealed messages that did not open, or could not be taken in.',
    ({ spool }) => spool.setAside
  )

  registry.registerMetric(
    histogramMetric({
      name: `${PREFIX}sync_duration_seconds`,
      help: 'Time of each sync of a write-ahead log.',
      firstBits: DURATION_BITS,
      unit: MICROSECONDS,
      rows: bySlot.map(({ labels, counts }) => ({ labels, histogram: counts.sync.duration }))
    })
  )
  registry.registerMetric(
    histogramMetric({
      name: `${PREFIX}sync_commits`,
      help: 'Commits that one sync made durable; the sum counts the commits.',
      firstBits: 0,
      unit: 1,
      rows: bySlot.map(({ labels, counts }) => ({ labels, histogram: counts.sync.group }))
    })
  )
  counter(
    'sync_failures_total',
    'Syncs that failed: their mailbox was closed.',
    ({ sync }) => sync.failed
  )

  gauge('mailboxes_open', 'Mailboxes whose key is in memory.', mailboxes.open)
  gauge('mailboxes_awake', 'Of these, with their file open.', mailboxes.awake)
  gauge('cache_granted_bytes', 'What the page caches of open files may use.', mailboxes.cacheBytes)
  gauge('chunk_cache_bytes', 'Pieces of long messages that are kept.', mailboxes.chunkBytes)
  gauge('view_bytes', 'Memory of the views of mailboxes.', mailboxes.viewBytes)
  gauge('idle_view_bytes', 'Of these, of views that nobody uses.', mailboxes.idleViewBytes)
  gauge('search_threads', 'Threads of long searches, at work or idle.', mailboxes.searchThreads)
  gauge('searches_waiting', 'Mailboxes that wait for such a thread.', mailboxes.searchesWaiting)

  const { maintenanceRunning, maintenanceWaiting } = maintenance
  gauge('maintenance_running', 'Mailboxes that are being looked after.', maintenanceRunning)
  gauge('maintenance_waiting', 'Mailboxes that wait for it.', maintenanceWaiting)
  gauge('maintenance_failing', 'Jobs that failed last time.', input.maintenanceFailing)
  counters(
    'maintenance_jobs_total',
    'Jobs of maintenance by result.',
    'result',
    ({ maintenance: ended }) => ({
      done: ended.maintenanceDone,
      skipped: ended.maintenanceSkipped,
      stopped: ended.maintenanceStopped,
      failed: ended.maintenanceFailed
    })
  )

  gauge('resident_bytes', 'Resident memory of all workers.', usage.rss)
  gauge('heap_bytes', 'Used JavaScript heap of all workers.', usage.heapUsed)
  counter('cpu_seconds_total', 'Processor time.', (counts) => counts.process.cpuSeconds)
  gauge('uptime_seconds', 'Of the worker that runs longest.', maxima['uptimeSeconds'] ?? 0)
  const late = 'How late the event loop was in the last seconds, of the worker that was latest'
  for (const [part, what, ms] of /** @type {const} */ ([
    ['p50', 'median', maxima['eventLoopP50Ms']],
    ['p99', '99th percentile', maxima['eventLoopP99Ms']],
    ['max', 'longest', maxima['eventLoopMaxMs']]
  ]))
    gauge(`event_loop_delay_${part}_seconds`, `${late}: ${what}.`, (ms ?? 0) / 1000)
  addHost(gauge, input)
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/**
 * @param {Registry} registry
 * @param {{ labels: Record<string, string>, counts: { commands?: Record<string, CommandCounts> } }[]} bySlot
 */
function addCommands(registry, bySlot) {
  const rows = bySlot.flatMap(({ labels, counts }) =>
    Object.entries(counts.commands ?? {}).map(([command, of]) => ({
      labels: { ...labels, command },
      ...of
    }))
  )
  const total = new Counter({
    name: `${PREFIX}commands_total`,
    help: 'IMAP commands by name and result.',
    labelNames: ['worker', 'command', 'result'],
    registers: [registry]
  })
  for (const { labels, OK, NO, BAD } of rows) {
    total.inc({ ...labels, result: 'ok' }, OK)
    total.inc({ ...labels, result: 'no' }, NO)
    total.inc({ ...labels, result: 'bad' }, BAD)
  }
  registry.registerMetric(
    histogramMetric({
      name: `${PREFIX}command_duration_seconds`,
      help: 'From a command’s last byte to its tagged reply; IDLE is not timed.',
      firstBits: DURATION_BITS,
      unit: MICROSECONDS,
      rows: rows.map(({ labels, duration }) => ({ labels, histogram: duration }))
    })
  )
}

/**
 * @param {(name: string, help: string, value: number) => void} gauge
 * @param {MetricsInput} input
 */
function addHost(gauge, { survey, backups, certificates, totals, nowMs }) {
  const age = (/** @type {number | null | undefined} */ atMs) =>
    atMs == null ? 0 : Math.max(0, (nowMs - atMs) / 1000)
  gauge('accounts', 'Accounts in the directory.', totals.accounts)
  gauge('tenants', 'Tenants in the directory.', totals.tenants)
  gauge('used_bytes', 'Bytes of mail in all mailboxes.', totals.usedBytes)
  gauge('used_messages', 'Messages in all mailboxes.', totals.usedMessages)
  gauge('file_bytes', 'Of the mailboxes’ files, as maintenance last saw them.', totals.fileBytes)
  gauge('file_free_bytes', 'Of these, in pages without content.', totals.freeBytes)
  gauge('disk_free_bytes', 'Of the disk that has the data folder.', survey.freeBytes)
  gauge('spool_messages', 'Sealed messages that wait for their owners.', survey.spoolFiles)
  gauge('spool_bytes', 'The same, bytes on disk.', survey.spoolBytes)
  gauge('spool_oldest_seconds', 'Age of the oldest; 0: none waits.', age(survey.oldestSpoolMs))
  gauge('spool_set_aside', 'Sealed messages in spool/aside.', survey.setAside)
  gauge('wal_bytes', 'Of all write-ahead logs.', survey.walBytes + survey.directoryWalBytes)
  const largestWalBytes = Math.max(survey.largestWalBytes, survey.directoryWalBytes)
  gauge('wal_largest_bytes', 'Of the largest.', largestWalBytes)
  gauge('survey_age_seconds', 'How old the figures of the disk are.', age(survey.atMs))
  gauge(
    'certificate_end_timestamp_seconds',
    'When the certificate that ends first does, seconds since 1970.',
    Math.floor((certificates[0]?.endMs ?? 0) / 1000)
  )
  const isUnreadable = backups.problem !== null
  gauge('backups_unreadable', '1: the place of the backups cannot be read.', Number(isUnreadable))
  const isOthers = backups.notMade !== null
  gauge(
    'backups_of_another_host',
    '1: another host makes them, and this one none.',
    Number(isOthers)
  )
  // Whatever age was given here, 0 for instance, would pass for that of a young backup.
  if (isUnreadable) return
  gauge('backups', 'Backups that are kept.', backups.generations.length)
  gauge(
    'backup_age_seconds',
    'Of the last backup; 0: there is none.',
    age(backups.generations[0]?.startedAtMs)
  )
  const { damaged, failures } = backups.results
  gauge(
    'backup_damaged_accounts',
    'Accounts that a rehearsal could not restore, and that were not stored anew since.',
    damaged.length
  )
  gauge(
    'backup_jobs_failed',
    'How many of prune and rehearsal failed last time.',
    Object.keys(failures).length
  )
  const failed = backups.generations.length === 0 ? 0 : (backups.generations[0]?.failed ?? null)
  gauge(
    'backup_unrecorded',
    '1: this host has no record of how the last backup went.',
    Number(failed === null)
  )
  // Nor is 0 given where there is no record: it would mean that no account is missing.
  if (failed !== null) gauge('backup_failed_accounts', 'Accounts that are not in it.', failed)
}
