/**
 * The nightly job of a server that no process manager looks after: at the configured hour, in a child process, so that
 * the backup never opens a file that the server has open through SQLite (closing it would drop the server's locks), and
 * never takes time from a user.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { Cron } from 'croner'

/**
 * @typedef {object} NightlySettings
 * @property {number} hour - UTC
 * @property {string} cron - an expression of five fields, UTC, instead of the hour; '' for each night at that hour
 * @property {number} jitterMinutes
 */

const DAY_MS = 24 * 60 * 60 * 1000
const MINUTE_MS = 60_000

/** A backup may be this old anyhow; and the next may come this long after the last moment for it to begin, ms. */
const FRESH_MS = 30 * 60 * MINUTE_MS
const PATIENCE_MS = 5 * 60 * MINUTE_MS

/** Node's timers end at 2^31 ms, and a clock may be set meanwhile: it is looked at this often, and when it is time. */
const LOOK_MS = 60_000

/**
 * @param {number} nowMs
 * @param {NightlySettings} settings
 * @returns {number} ms, without jitter
 */
function nextTime(nowMs, { hour, cron }) {
  if (cron !== '') {
    const next = new Cron(cron, { mode: '5-part', timezone: 'UTC' }).nextRun(new Date(nowMs))
    return next?.getTime() ?? Infinity
  }
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS + hour * 60 * MINUTE_MS
  return today > nowMs ? today : today + DAY_MS
}

/**
 * Of a night, always the same: a server that is started anew in the middle of it neither leaves it out nor does it twice.
 *
 * @param {string} hostId - whose nights they are
 * @param {NightlySettings} settings
 * @returns {(timeMs: number) => number} how long after its time the job of that night begins, ms
 */
function delaysOf(hostId, { jitterMinutes }) {
  return (timeMs) => {
    const digest = createHash('sha256').update(`${hostId} ${timeMs}`).digest()
    return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * (jitterMinutes * MINUTE_MS + 1))
  }
}

/**
 * @param {number} nowMs
 * @param {NightlySettings} settings
 * @param {(timeMs: number) => number} delayOf - how long after its time a night's job begins, ms; at most the jitter
 * @returns {number} when the next night's job begins, ms
 */
export function nextNight(nowMs, settings, delayOf) {
  // Its time may be over, and its job yet to come.
  let timeMs = nextTime(nowMs - settings.jitterMinutes * MINUTE_MS, settings)
  while (timeMs + delayOf(timeMs) <= nowMs) timeMs = nextTime(timeMs, settings)
  return timeMs + delayOf(timeMs)
}

/**
 * @param {number} lastMs - when the last backup began
 * @param {NightlySettings} settings
 * @returns {number} from when on the next one is overdue, ms; Infinity where none will come
 */
export function overdueAt(lastMs, settings) {
  const latestMs = nextTime(lastMs, settings) + settings.jitterMinutes * MINUTE_MS
  return Math.max(lastMs + FRESH_MS, latestMs + PATIENCE_MS)
}

/**
 * @param {object} options
 * @param {NightlySettings} options.settings
 * @param {string} options.hostId - as `hostIdOf` gives it
 * @param {string[]} options.command - program and arguments of the job
 * @param {() => Promise<boolean>} options.isWanted - asked each night
 * @param {import('../support/clock.js').Clock} options.clock
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @param {number} [options.lookMs] - how often the clock is looked at
 * @returns {{ close: () => Promise<void> }} ends the job that is under way, which loses nothing
 */
export function scheduleNightly({
  settings,
  hostId,
  command,
  isWanted,
  clock,
  logger,
  lookMs = LOOK_MS
}) {
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null
  /** @type {Promise<void>} */
  let ended = Promise.resolve()
  const delayOf = delaysOf(hostId, settings)
  let dueMs = nextNight(clock.nowMs(), settings, delayOf)

  const start = () => {
    const [program = '', ...args] = command
    const running = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    child = running
    ended = new Promise((resolve) => {
      running.on('error', (err) => {
        logger.error({ err }, 'the nightly backup could not be started')
        child = null
        resolve()
      })
      running.on('exit', (code, signal) => {
        if (code === 0) logger.info('the nightly backup is done')
        else logger.error({ exitCode: code, signal }, 'the nightly backup did not go well')
        child = null
        resolve()
      })
    })
  }
  let isClosed = false
  let lookedMs = clock.nowMs()
  const look = async () => {
    const nowMs = clock.nowMs()
    // A clock that was set back: the next night comes before the one that was waited for.
    if (nowMs < lookedMs) dueMs = Math.min(dueMs, nextNight(nowMs, settings, delayOf))
    lookedMs = nowMs
    if (nowMs < dueMs) return
    dueMs = nextNight(nowMs, settings, delayOf)
    if (child) logger.warn('last night’s backup is still running')
    else if ((await isWanted()) && !isClosed) start()
  }
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const wait = () => {
    if (isClosed) return
    const waitMs = Math.min(lookMs, Math.max(1, dueMs - clock.nowMs()))
    timer = setTimeout(() => {
      look()
        .catch((err) => logger.error({ err }, 'the nightly backup could not be started'))
        .finally(wait)
    }, waitMs)
    timer.unref()
  }
  wait()
  return {
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      child?.kill('SIGTERM')
      await ended
    }
  }
}
