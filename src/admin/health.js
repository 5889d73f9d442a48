/**
 * The deep health check: what an operator would look at, each with a verdict and a sentence that says what it means.
 */
import { roomOf } from '../support/disk-room.js'
import { troublesOf } from '../backup/last-results.js'
import { counted, formatBytes } from '../support/format.js'

/** @import { Survey } from './survey.js' */
/** @import { BackupList } from '../backup/backup-list.js' */
/** @import { CertificateEnd } from '../support/certificates.js' */
/** @import { WorkerSnapshot } from '../telemetry/snapshot.js' */

/** @typedef {'ok' | 'warn' | 'fail'} Status */
/** @typedef {{ name: string, status: Status, text: string }} Check */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MB = 1000 * 1000
const GB = 1000 * MB

/** @type {Readonly<Record<string, string>>} by the system's code */
const ADVICE_BY_TROUBLE = {
  ENOSPC: 'make room',
  EDQUOT: 'its user’s quota is used up',
  EROFS: 'its file system has become read-only, see the kernel’s log'
}
/** Mail for an open mailbox is taken in within a second; after so long something is wrong. */
const OPEN_SPOOL_FAIL_MS = 5 * 60_000
/** Mail for a locked mailbox waits for its owner; after so long somebody should ask them. */
const LOCKED_SPOOL_WARN_MS = 30 * DAY_MS
/** A backup that has been overdue for so long will not come by itself. */
const BACKUP_FAIL_MS = 42 * HOUR_MS
/** Certificates of 90 days are renewed 30 days before they end: with less than this left, the renewal is overdue. */
const CERTIFICATE_WARN_MS = 21 * DAY_MS
/** Checkpoints keep a write-ahead log at some MB; a longer one is held by a reader that does not end. */
const WAL_WARN_BYTES = 64 * MB
const WAL_FAIL_BYTES = GB
/** 99 of 100 turns of the event loop should be late by no more than this. */
const LOOP_WARN_MS = 100
const LOOP_FAIL_MS = 1000

/**
 * @param {number} ms
 * @returns {string}
 */
function ageText(ms) {
  if (ms < 2 * 60_000) return counted(Math.max(0, Math.round(ms / 1000)), 'second')
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / 60_000)} minutes`
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / DAY_MS)} days`
}

/**
 * @param {{ fails?: boolean, warns?: boolean }} facts - a failure counts for more than a warning
 * @returns {Status}
 */
const verdict = ({ fails = false, warns = false }) => (fails ? 'fail' : warns ? 'warn' : 'ok')

/**
 * @param {Survey} survey
 * @returns {Check}
 */
export function checkDisk({ diskTrouble, ...disk }) {
  const { freeBytes, freeFiles } = disk
  if (diskTrouble !== null) {
    const advice = ADVICE_BY_TROUBLE[diskTrouble] ?? 'see the kernel’s log'
    const text = `Nothing can be written to the disk (${diskTrouble}): ${advice}; mail is refused`
    return { name: 'disk', status: 'fail', text }
  }
  const { status, part, filesPart, hasFewFiles } = roomOf(disk)
  const percent = (/** @type {number} */ of) => `(${Math.round(of * 100)}\u00a0%)`
  const files = hasFewFiles ? `, and ${freeFiles} more files ${percent(filesPart)}` : ''
  const text = `${formatBytes(freeBytes)} of the disk are free ${percent(part)}${files}`
  return {
    name: 'disk',
    status,
    text: status === 'ok' ? text : `${text}: make room, or mail is refused`
  }
}

/**
 * @param {Survey} survey
 * @param {number} nowMs
 * @returns {Check}
 */
export function checkSpool({ spoolFiles, spoolBytes, oldestSpoolMs, oldestOpenSpoolMs }, nowMs) {
  const name = 'spool'
  if (oldestSpoolMs === null) return { name, status: 'ok', text: 'No mail waits' }
  const openMs = oldestOpenSpoolMs === null ? 0 : nowMs - oldestOpenSpoolMs
  if (openMs > OPEN_SPOOL_FAIL_MS) {
    const text = `Mail for an open mailbox has waited for ${ageText(openMs)}: see the log for why it is not taken in`
    return { name, status: 'fail', text }
  }
  const oldMs = nowMs - oldestSpoolMs
  const wait = counted(spoolFiles, 'message waits for its owner', 'messages wait for their owners')
  const text = `${wait} (${formatBytes(spoolBytes)}), the oldest for ${ageText(oldMs)}`
  return { name, status: verdict({ warns: oldMs > LOCKED_SPOOL_WARN_MS }), text }
}

/**
 * @param {Survey} survey
 * @returns {Check}
 */
export function checkSetAside({ setAside }) {
  const name = 'set-aside'
  if (setAside === 0) return { name, status: 'ok', text: 'All sealed mail could be opened' }
  const text = `${counted(setAside, 'sealed message')} could not be opened or taken in: see spool/aside, and docs/spool.md`
  return { name, status: 'warn', text }
}

/**
 * @param {BackupList} backups
 * @param {number} nowMs
 * @returns {Check}
 */
export function checkBackup(
  { isSetUp, generations, overdueAtMs, problem, isReached, notMade, results },
  nowMs
) {
  const name = 'backup'
  if (!isSetUp)
    return { name, status: 'warn', text: 'No backups are set up: letterlock backup init' }
  if (problem !== null) {
    const what = isReached
      ? 'The backups are not as they should be'
      : 'The place of the backups cannot be read'
    return { name, status: 'fail', text: `${what}: ${problem}` }
  }
  if (notMade !== null) {
    return { name, status: 'fail', text: `No backups are made here: ${notMade}` }
  }
  const [last] = generations
  if (!last) return { name, status: 'warn', text: 'Backups are set up, and none was made yet' }
  const ageMs = nowMs - last.startedAtMs
  const overdueMs = nowMs - (overdueAtMs ?? nowMs)
  const { failed } = last
  // Without a record nobody knows whether accounts are missing, which is a warning as well.
  const ending =
    failed === null
      ? '; this host has no record of how it went'
      : failed > 0
        ? `; ${counted(failed, 'account is', 'accounts are')} not in it`
        : ''
  const troubles = troublesOf(results)
  const fails = overdueMs > BACKUP_FAIL_MS || troubles.some(({ isDamage }) => isDamage)
  const warns = overdueMs > 0 || failed !== 0 || troubles.length > 0
  return {
    name,
    status: verdict({ fails, warns }),
    text: [
      `The last backup is ${ageText(ageMs)} old${ending}`,
      ...troubles.map(({ text }) => text)
    ].join('; ')
  }
}

/**
 * @param {CertificateEnd[]} ends - of all that the server has, the first one first
 * @param {number} nowMs
 * @returns {Check}
 */
export function checkCertificate([first], nowMs) {
  const name = 'certificate'
  if (!first) return { name, status: 'ok', text: 'There is none' }
  const leftMs = first.endMs - nowMs
  if (leftMs <= 0) {
    const text = `The one for ${first.name} ended ${ageText(-leftMs)} ago, and mail programs refuse it: renew it`
    return { name, status: 'fail', text }
  }
  const text = `The one for ${first.name} ends in ${ageText(leftMs)}`
  const isNear = leftMs < CERTIFICATE_WARN_MS
  return { name, status: verdict({ warns: isNear }), text: isNear ? `${text}: renew it` : text }
}

/**
 * @param {Survey} survey
 * @returns {Check}
 */
export function checkWal({ walBytes, largestWalBytes, directoryWalBytes }) {
  const largest = Math.max(largestWalBytes, directoryWalBytes)
  return {
    name: 'wal',
    status: verdict({ fails: largest > WAL_FAIL_BYTES, warns: largest > WAL_WARN_BYTES }),
    text: `Write-ahead logs have ${formatBytes(walBytes + directoryWalBytes)}, the largest ${formatBytes(largest)}`
  }
}

/**
 * @param {{ failing: { failures: number }[], failingTotal: number }} failures
 * @returns {Check}
 */
export function checkMaintenance({ failing, failingTotal }) {
  const name = 'maintenance'
  if (failingTotal === 0) return { name, status: 'ok', text: 'No job of maintenance fails' }
  const most = Math.max(...failing.map(({ failures }) => failures))
  const inRow =
    most === 1 ? '' : `, ${failingTotal === 1 ? '' : 'one of them '}${most} times in a row`
  const text = `${counted(failingTotal, 'job')} of maintenance failed last time${inRow}`
  return { name, status: verdict({ fails: most > 2, warns: true }), text }
}

/**
 * What SQLite's check of the directory has found; the mailboxes cannot be surveyed then.
 *
 * @type {Check}
 */
export const DIRECTORY_DAMAGED = Object.freeze({
  name: 'integrity',
  status: 'fail',
  text: 'The directory is damaged: restore it from a backup'
})

/**
 * @param {string[]} misfits - of `DirectoryCheck`; one at least
 * @returns {Check}
 */
export const keysContradict = ({ length, 0: first }) => ({
  name: 'integrity',
  status: 'fail',
  text: `${counted(length, 'account has', 'accounts have')} keys that contradict each other in the directory, first ${first}: no mail is taken for it, see docs/operations.md`
})

/**
 * @param {Survey} survey
 * @returns {Check}
 */
export function checkIntegrity({
  mailboxes,
  misshapen,
  misshapenIds,
  unreadable,
  unreadableIds,
  damaged,
  damagedIds
}) {
  const name = 'integrity'
  if (misshapen > 0) {
    const files = counted(misshapen, 'mailbox file is', 'mailbox files are')
    const text = `${files} missing or cut off, first ${misshapenIds[0]}: restore from a backup`
    return { name, status: 'fail', text }
  }
  if (damaged > 0) {
    const found = counted(damaged, 'mailbox was', 'mailboxes were')
    const text = `${found} found damaged, first ${damagedIds[0]}: to be repaired or restored`
    return { name, status: 'fail', text }
  }
  if (unreadable > 0) {
    const have = counted(unreadable, 'mailbox has', 'mailboxes have')
    const text = `${have} a folder that cannot be looked at, first ${unreadableIds[0]}: the log says why`
    return { name, status: 'fail', text }
  }
  return {
    name,
    status: 'ok',
    text: `The directory and the files of ${counted(mailboxes, 'mailbox', 'mailboxes')} are whole`
  }
}

/**
 * @param {string} name - of a check
 * @returns {Check} its outcome where it has failed to read what it is about
 */
export const notLookedAt = (name) => ({
  name,
  status: 'fail',
  text: 'It could not be looked at: the log says why'
})

/**
 * @param {WorkerSnapshot} snapshot - of the workers that answer
 * @param {number} [silent] - how many others there are
 * @returns {Check}
 */
export function checkEventLoop({ sums, maxima }, silent = 0) {
  if (silent > 0) {
    return {
      name: 'event-loop',
      status: 'fail',
      text: `No answer from ${silent} of ${Number(sums['workers']) + silent} processes: hung, or stopped`
    }
  }
  const p99Ms = maxima['eventLoopP99Ms'] ?? 0
  return {
    name: 'event-loop',
    status: verdict({ fails: p99Ms > LOOP_FAIL_MS, warns: p99Ms > LOOP_WARN_MS }),
    text: `99 of 100 turns began within ${p99Ms.toFixed(1)} ms, the latest after ${(maxima['eventLoopMaxMs'] ?? 0).toFixed(1)} ms`
  }
}

/**
 * @param {WorkerSnapshot} snapshot
 * @returns {Check}
 */
export function checkPressure({ sums }) {
  const { refusing, refused } = /** @type {any} */ (sums['pressure'])
  const count = refused > 0 ? `; refused since the start: ${refused}` : ''
  return {
    name: 'pressure',
    status: verdict({ fails: refusing > 0 }),
    text:
      refusing > 0
        ? `No new sessions in ${refusing} of ${counted(Number(sums['workers']), 'process', 'processes')}: memory or processor time does not suffice${count}`
        : `New sessions are taken${count}`
  }
}

/**
 * @param {Check[]} checks
 * @returns {Status} the worst of them
 */
export function worstOf(checks) {
  const has = (/** @type {Status} */ status) => checks.some((check) => check.status === status)
  return verdict({ fails: has('fail'), warns: has('warn') })
}
