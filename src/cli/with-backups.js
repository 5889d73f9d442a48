/**
 * What the commands about backups share: configuration, log and target, opened and closed around the work.
 */
import { readHostState, requireTarget } from '../backup/host-state.js'
import { Repository } from '../backup/repository.js'
import { openTarget } from '../backup/targets/open-target.js'
import { toMailError } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { createLogger } from '../telemetry/logger.js'
import { CliError } from './cli-error.js'
import { enterDataFolder } from './data-folder.js'

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

/** What a script reads when something did not go well. */
export const SOME_FAILED = 1
/** What it reads when nothing was done. */
export const NOTHING_DONE = 2

/**
 * @param {MailError} error
 * @returns {string} for the operator, with what is known of it
 */
export const wordsOf = ({ message, detail }) =>
  detail === undefined ? message : `${message} (${detail})`

/**
 * The folder of a disk that is not mounted passes for a place where no backup was made yet.
 *
 * @param {unknown} error
 * @param {{ data: string, repository: Repository }} where
 * @returns {Promise<unknown>} where there is no backup at all, what keeps this host from making one there; else the error
 */
async function whyMissing(error, { data, repository }) {
  const isMissing = isMailError(error, 'BACKUP_MISSING')
  if (!isMissing || (await readHostState(data)) === null) return error
  if ((await repository.listGenerations()).length > 0) return error
  return await requireTarget(data, repository).then(
    () => error,
    (reason) => reason
  )
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
  const target = await openTarget(config.backup)
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
    const error = await whyMissing(thrown, { data: config.data, repository })
    // The scratch folder, for instance, is made by the file system alone.
    const known = toMailError(error)
    if (!(error instanceof MailError || isMailError(known, 'DISK_FULL'))) throw error
    throw new CliError(wordsOf(/** @type {MailError} */ (known)), {
      exitCode: NOTHING_DONE,
      cause: error
    })
  } finally {
    await target.close()
  }
}
