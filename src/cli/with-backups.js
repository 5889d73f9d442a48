/**
 * What the commands about backups share: configuration, log and target, opened and closed around the work.
 */
import { join } from 'node:path'
import { auditLimitsOf } from '../accounts/audit-limits.js'
import { isMigrated, openDirectory } from '../accounts/directory.js'
import { lacksDirectory, requireDirectoryOfMailboxes } from '../accounts/stranded-mailboxes.js'
import { readHostState, whyNotMade } from '../backup/host-state.js'
import { MAX_RUNS, requireNoneLost } from '../backup/last-run.js'
import { Repository } from '../backup/repository.js'
import { openTarget } from '../backup/targets/open-target.js'
import { Patience } from '../backup/targets/patience.js'
import { errorCodeOf, toMailError } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { createLogger } from '../telemetry/logger.js'
import { CliError } from './cli-error.js'
import { enterDataFolder } from './data-folder.js'
import { explainRefusedFile } from './file-refused.js'

/**
 * @typedef {import('./index.js').CliContext} CliContext
 * @typedef {import('./index.js').CommonOptions} CommonOptions
 *
 * @typedef {object} BackupParts
 * @property {import('../../config/load.js').Config} config
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../backup/targets/target.js').BackupTarget} target
 * @property {Repository} repository
 * @property {(line: string) => void} print - results
 * @property {(line: string) => void} tell - words for people
 */

/** The exit code where something did not go well. */
export const SOME_FAILED = 1
/** The exit code where nothing was done. */
export const NOTHING_DONE = 2

/** Errors that do not say which disk they are about, where their detail is the system's code alone. */
const OF_A_DISK = new Set(['DISK_FULL', 'NOT_DURABLE'])

/**
 * @param {MailError} error
 * @returns {string} the error's text for the operator, with its detail where it has one
 */
export const wordsOf = ({ message, detail }) =>
  detail === undefined ? message : `${message} (${detail})`

/**
 * Where there is no backup, finds out whether none was made yet: a disk that is not mounted, or a place that has lost its
 * backups, looks the same.
 *
 * @param {Pick<BackupParts, 'config' | 'repository' | 'clock' | 'logger'>} parts - of a host that is set up; the repository has
 *   no backup
 * @throws {MailError} BACKUP_NOT_READY, BACKUP_DAMAGED, DIRECTORY_MISSING
 */
export async function requireNoneYet({ config, repository, clock, logger }) {
  const path = join(config.data, 'directory.db')
  const notMade = await whyNotMade(config.data, repository)
  if (notMade !== null) return
  await requireDirectoryOfMailboxes(config.data)
  // The directory is not opened where that would make it, or migrate that of a running server.
  if ((await lacksDirectory(config.data)) || !isMigrated(path)) return
  const directory = openDirectory({ path, clock, logger, audit: auditLimitsOf(config) })
  try {
    const runs = await directory.pageAudit({ action: 'backup', limit: MAX_RUNS })
    const setUpMs = (await repository.readMarker())?.createdAtMs ?? 0
    requireNoneLost(runs, { label: repository.target.label, nowMs: clock.nowMs(), setUpMs })
  } finally {
    await directory.close()
  }
}

/**
 * @param {unknown} error
 * @param {Parameters<typeof requireNoneYet>[0]} parts
 * @returns {Promise<unknown>} where there is no backup at all, an error that says why; else `error`
 */
async function whyMissing(error, parts) {
  const { config, repository } = parts
  if (!isMailError(error, 'BACKUP_MISSING')) return error
  if ((await repository.listGenerations()).length > 0) return error
  if ((await readHostState(config.data)) === null) {
    const detail = `there is none in ${repository.target.label}: have backup.folder or backup.s3 name the place that they are in`
    return new MailError('BACKUP_MISSING', { detail, cause: error })
  }
  try {
    await requireNoneYet(parts)
    return error
  } catch (reason) {
    return errorCodeOf(reason).startsWith('BACKUP_') ? reason : error
  }
}

/**
 * @param {unknown} error
 * @param {{ data: string }} config
 * @returns {string | null} words for the operator; null for a fault of the program
 */
function failureOf(error, { data }) {
  // A full disk need not have come as a MailError: the scratch folder, for instance, is made with node:fs.
  const known = toMailError(error)
  if (!(error instanceof MailError || isMailError(known, 'DISK_FULL'))) return null
  const failure = /** @type {MailError} */ (known)
  const { message, detail = '' } = failure
  // An error about the place of the backups names that in its detail.
  const isOfData = OF_A_DISK.has(failure.code) && /^\w+$/.test(detail)
  return isOfData ? `${message} (${detail}): it is that of ${data}` : wordsOf(failure)
}

/**
 * @template T
 * @param {CliContext} context
 * @param {CommonOptions} options
 * @param {(parts: BackupParts) => Promise<T>} work
 * @param {{ isLogged?: boolean, mayBeNew?: boolean }} [how] - `isLogged`: a job of the server's, which writes the log as the
 *   server does; `mayBeNew`: there need not be a data folder yet
 * @returns {Promise<T>}
 * @throws {CliError} with exit code 2 for errors of ours
 */
export async function withBackups(
  context,
  options,
  work,
  { isLogged = false, mayBeNew = false } = {}
) {
  const { stdout, stderr, clock } = context
  const config = context.loadConfig(options)
  enterDataFolder(config.data, { mayBeNew, exitCode: NOTHING_DONE })
  const { level } = config.log
  const logger = createLogger({ level: isLogged || level === 'silent' ? level : 'warn' })
  const patience = new Patience({ logger, isFirstToo: isLogged })
  const target = await openTarget(config.backup, patience)
  const repository = new Repository(target)
  try {
    return await work({
      config,
      logger,
      clock,
      target,
      repository,
      print: (line) => stdout.write(`${line}\n`),
      tell: (line) => stderr.write(`${line}\n`)
    })
  } catch (thrown) {
    const error = await whyMissing(thrown, { config, repository, clock, logger })
    const words = explainRefusedFile(error) ?? failureOf(error, config)
    if (words === null) throw error
    throw new CliError(words, { exitCode: NOTHING_DONE, cause: error })
  } finally {
    await target.close()
  }
}
