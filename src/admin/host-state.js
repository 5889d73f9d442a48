/**
 * What is known of the host as a whole: gathered from surveys, workers and directory for health, metrics and dashboard.
 */
import { BackupWatch } from './backup-watch.js'
import {
  checkBackup,
  checkCertificate,
  checkDisk,
  checkEventLoop,
  checkIntegrity,
  checkMaintenance,
  checkPressure,
  checkSetAside,
  checkSpool,
  checkWal,
  DIRECTORY_DAMAGED,
  keysContradict,
  notLookedAt,
  worstOf
} from './health.js'
import { mergeSnapshots } from '../telemetry/snapshot.js'

/** @import { WorkerSnapshot } from '../telemetry/snapshot.js' */
/** @import { Check, Status } from './health.js' */

/** A list of backups serves for so long, ms: to list them asks their target, which may be far away. */
const BACKUP_AGE_MS = 60_000
/** The same for those who ask for the backups alone, and may have just made one, ms; a store takes money for each look. */
const RECENT_BACKUP_AGE_MS = 5000
/** A check of the directory by SQLite serves for so long, ms: it takes some ms for each ten thousand accounts. */
const CHECK_AGE_MS = 10 * 60_000
/** Between two points of the live charts, ms, and how many are kept: an hour. */
const POINT_MS = 5000
const POINTS = 720

/**
 * @template T
 * @param {() => Promise<T>} read
 * @param {{ ageMs: number, clock: import('../support/clock.js').Clock }} options
 * @returns {() => Promise<T>} as `read`, but what it gave serves for `ageMs`; those who ask at once share one reading
 */
function remembered(read, { ageMs, clock }) {
  /** @type {{ atMs: number, value: Promise<T> } | null} */
  let last = null
  return () => {
    const nowMs = clock.nowMs()
    if (last === null || Math.abs(nowMs - last.atMs) > ageMs) {
      const value = read()
      last = { atMs: nowMs, value }
      value.catch(() => {
        last = null
      })
    }
    return last.value
  }
}

/**
 * @typedef {object} Point - of the live charts
 * @property {number} atMs
 * @property {number} sessions
 * @property {number} commands - since the start
 * @property {number} deliveries - since the start
 * @property {number} loginsRefused - since the start
 * @property {number} syncs - since the start
 * @property {number} eventLoopP99Ms
 * @property {number} rssBytes
 * @property {number} openMailboxes
 */

/** Gathers, and keeps an hour of points. */
export class HostState {
  #parts
  /** @type {Point[]} */
  #points = []
  #pointMs
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {object} parts
   * @param {(options?: { timeoutMs?: number }) => Promise<WorkerSnapshot[]>} parts.workers - one snapshot each; `timeoutMs`: how
   *   long is waited for one
   * @param {() => Promise<number>} parts.silentWorkers - how many others there are that give none
   * @param {import('./survey.js').HostSurvey} parts.survey
   * @param {import('../backup/backup-list.js').BackupPort} parts.backups
   * @param {() => import('../support/certificates.js').CertificateEnd[]} parts.certificates - the first one first
   * @param {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'logger'>} parts.services
   * @param {number} [parts.pointMs] - between two points
   */
  constructor({
    workers,
    silentWorkers,
    survey,
    backups,
    certificates,
    services,
    pointMs = POINT_MS
  }) {
    const { clock, directory } = services
    this.#parts = { workers, survey, services, backups: new BackupWatch({ backups, clock }) }
    this.silentWorkers = silentWorkers
    this.certificates = certificates
    this.checkDirectory = remembered(() => directory.quickCheck(), { ageMs: CHECK_AGE_MS, clock })
    this.#pointMs = pointMs
  }

  /** Begins to gather points. To be called once the other workers are known: else a slow start would be logged as a fault. */
  start() {
    this.#timer = setInterval(() => this.#keepPoint(), this.#pointMs)
    this.#timer.unref()
  }

  /** @returns {Promise<WorkerSnapshot[]>} one for each worker */
  workerSnapshots() {
    return this.#parts.workers()
  }

  /**
   * @param {{ timeoutMs?: number }} [options] - how long a worker may take to answer
   * @returns {Promise<WorkerSnapshot>} of all workers together
   */
  async snapshot(options) {
    return mergeSnapshots(await this.#parts.workers(options))
  }

  /** @returns {Promise<import('./survey.js').Survey>} the last one, however old */
  survey() {
    return this.#parts.survey.read()
  }

  /**
   * @param {{ isRecent?: boolean }} [options] - true: the list must be of the last seconds, else of the last minute
   * @returns {Promise<import('../backup/backup-list.js').BackupList>} with a `problem` where the place of the backups does not
   *   answer
   */
  listBackups({ isRecent = false } = {}) {
    return this.#parts.backups.list(isRecent ? RECENT_BACKUP_AGE_MS : BACKUP_AGE_MS)
  }

  /** @returns {Promise<{ status: Status, checks: Check[] }>} */
  async deepHealth() {
    const { survey, services } = this.#parts
    const { directory, clock } = services
    const nowMs = clock.nowMs()
    // Asked at once: where a worker or the store of the backups hangs, each of these takes seconds.
    const asked = Promise.all([this.snapshot(), this.silentWorkers()])
    const backups = this.listBackups()
    for (const answer of [asked, backups]) answer.catch(() => {})
    /** @type {Record<string, () => Promise<Check>>} */
    const looks = {
      disk: async () => checkDisk(await survey.readCurrent()),
      spool: async () => checkSpool(await survey.readCurrent(), nowMs),
      'set-aside': async () => checkSetAside(await survey.readCurrent()),
      backup: async () => checkBackup(await backups, nowMs),
      certificate: async () => checkCertificate(this.certificates(), nowMs),
      wal: async () => checkWal(await survey.readCurrent()),
      maintenance: async () => checkMaintenance(await directory.listMaintenanceFailures()),
      integrity: () => this.#checkIntegrity(),
      'event-loop': async () => checkEventLoop(...(await asked)),
      pressure: async () => checkPressure((await asked)[0])
    }
    const checks = []
    for (const [name, look] of Object.entries(looks)) checks.push(await this.#look(name, look))
    return { status: worstOf(checks), checks }
  }

  /** @returns {Promise<Check>} */
  async #checkIntegrity() {
    const { problems, misfits } = await this.checkDirectory()
    if (problems.length > 0) return DIRECTORY_DAMAGED
    if (misfits.length > 0) return keysContradict(misfits)
    return checkIntegrity(await this.#parts.survey.readCurrent())
  }

  /**
   * Runs one check. Where it throws, it counts as failed, and the others still say what they find.
   *
   * @param {string} name
   * @param {() => Promise<Check>} check
   * @returns {Promise<Check>}
   */
  async #look(name, check) {
    try {
      return await check()
    } catch (err) {
      this.#parts.services.logger.error({ err, check: name }, 'a health check failed')
      return notLookedAt(name)
    }
  }

  /** @returns {Promise<Point[]>} oldest first, and one of now */
  async points() {
    const { clock } = this.#parts.services
    return [...this.#points, pointOf(await this.snapshot(), clock.nowMs())]
  }

  async #keepPoint() {
    const { clock, logger } = this.#parts.services
    try {
      this.#points.push(pointOf(await this.snapshot(), clock.nowMs()))
      if (this.#points.length > POINTS) this.#points.shift()
    } catch (err) {
      logger.error({ err }, 'the figures of the workers could not be read')
    }
  }

  /** Stops gathering. */
  close() {
    clearInterval(this.#timer)
  }
}

/**
 * @param {WorkerSnapshot} snapshot
 * @param {number} atMs
 * @returns {Point}
 */
function pointOf({ sums, maxima }, atMs) {
  const {
    sessions,
    commands,
    deliveries,
    logins,
    sync,
    process: usage,
    mailboxes
  } = /** @type {any} */ (sums)
  const counted = Object.values(commands ?? {})
  return {
    atMs,
    sessions: sessions.loggedIn,
    commands: counted.reduce((sum, { OK, NO, BAD }) => sum + OK + NO + BAD, 0),
    deliveries: deliveries.stored,
    loginsRefused: logins.refused + logins.throttled,
    syncs: sync.duration.counts.reduce(
      (/** @type {number} */ sum, /** @type {number} */ n) => sum + n,
      0
    ),
    eventLoopP99Ms: maxima['eventLoopP99Ms'] ?? 0,
    rssBytes: usage.rss,
    openMailboxes: mailboxes.open
  }
}
