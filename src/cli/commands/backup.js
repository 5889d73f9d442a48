/**
 * `letterlock backup`: init, run, list, verify, prune, rehearse, nightly; verify, restore and take-over have files of their own.
 */
import { initBackups } from '../../backup/init.js'
import { pruneBackups } from '../../backup/prune.js'
import { rehearseRestore } from '../../backup/rehearse.js'
import { hostIdOf, readHostState } from '../../backup/host-state.js'
import { runBackup } from '../../backup/run.js'
import { scheduleNightly } from '../../backup/schedule.js'
import { once } from 'node:events'
import { registerRestore } from '../backup-restore.js'
import { registerTakeOver } from '../backup-take-over.js'
import { registerVerify } from '../backup-verify.js'
import { BackupProgress } from '../backup-progress.js'
import { CliError } from '../cli-error.js'
import { enterDataFolder } from '../data-folder.js'
import { nightlyCommand } from '../nightly-command.js'
import { writeOut } from '../outputs.js'
import { errorCodeOf } from '../../database/sqlite-error.js'
import { MailError, isMailError } from '../../errors.js'
import { systemClock } from '../../support/clock.js'
import { counted, formatBytes } from '../../support/format.js'
import { createLogger } from '../../telemetry/logger.js'
import { wholeNumber } from '../whole-number.js'
import { NOTHING_DONE, SOME_FAILED, requireNoneYet, withBackups, wordsOf } from '../with-backups.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('../index.js').CliContext} CliContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {import('../with-backups.js').BackupParts} BackupParts
 */

/**
 * @param {Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  const backup = program
    .command('backup')
    .description('Back up every mailbox, locked or not, and restore them')
  registerInit(backup, context)
  registerRun(backup, context)
  registerList(backup, context)
  registerVerify(backup, context)
  registerRestore(backup, context)
  registerTakeOver(backup, context)
  registerPrune(backup, context)
  registerRehearse(backup, context)
  registerNightly(backup, context)
  registerSchedule(backup, context)
}

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerInit(backup, context) {
  backup
    .command('init')
    .description('Set backups up, and show the recovery key this once')
    .option('--recipient <age1…>', 'seal to a key of your own instead of a new one')
    .addHelpText('after', '\nExample:\n  letterlock backup init')
    .action((/** @type {CommonOptions & { recipient?: string }} */ options) =>
      withBackups(context, options, async ({ config, repository, clock, print, tell, target }) => {
        const { recipient } = await initBackups({
          data: config.data,
          repository,
          clock,
          ...(options.recipient !== undefined && { recipient: options.recipient }),
          showKey: async (recoveryKey) => {
            await writeKey(context.stdout, `recovery key: ${recoveryKey}\n`)
            tell(
              'Keep it off this machine: it is shown this once. Without it, a lost host cannot be restored from its backups.'
            )
          }
        })
        print(`backups go to ${target.label}`)
        print(`sealed to ${recipient.length > 80 ? `${recipient.slice(0, 60)}…` : recipient}`)
      })
    )
}

/**
 * @param {NodeJS.WritableStream} stdout
 * @param {string} line
 * @returns {Promise<void>} once the line has been written: it is the only copy of the key
 * @throws {CliError} also where nobody reads
 */
async function writeKey(stdout, line) {
  try {
    await writeOut(stdout, line)
  } catch (cause) {
    const text = `The recovery key could not be shown (${errorCodeOf(cause)}): backups are not set up`
    throw new CliError(text, { exitCode: NOTHING_DONE, cause })
  }
}

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerRun(backup, context) {
  backup
    .command('run')
    .description('Back up all accounts now')
    .addHelpText(
      'after',
      '\nExit code: 0 every account is in it, 1 some failed, 2 nothing was done.\n\nExample:\n  letterlock backup run --data /var/lib/letterlock'
    )
    .action((/** @type {CommonOptions} */ options) =>
      withBackups(context, options, async (parts) => {
        process.exitCode = await runNow(parts, context)
      })
    )
}

/**
 * @param {BackupParts} parts
 * @param {CliContext} context
 * @param {{ isLogged?: boolean }} [how]
 * @returns {Promise<number>} the exit code
 */
async function runNow(
  { config, target, clock, logger, print, tell },
  { stdout },
  { isLogged = false } = {}
) {
  const bar = new BackupProgress(stdout, 'backing up')
  try {
    const summary = await runBackup({
      config,
      target,
      clock,
      logger,
      onProgress: (progress) => bar.update(progress)
    })
    bar.stop()
    const { generation, accounts, failed, newBytes, sharedBytes, storedBytes, durationMs } = summary
    // Where the server runs this, these lines end up in its log, which has no addresses.
    for (const { id, address, code } of failed)
      tell(`failed: ${isLogged ? `account ${id}` : address} (${code})`)
    print(
      `${generation}: ${counted(accounts, 'account')}, ${failed.length} failed, ` +
        `${formatBytes(newBytes)} new, ${formatBytes(sharedBytes)} shared, ` +
        `${formatBytes(storedBytes)} stored, in ${(durationMs / 1000).toFixed(1)} s`
    )
    return failed.length === 0 ? 0 : SOME_FAILED
  } finally {
    bar.stop()
  }
}

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerList(backup, context) {
  backup
    .command('list')
    .description('List the backups')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', '\nExample:\n  letterlock backup list')
    .action((/** @type {CommonOptions & { json?: boolean }} */ options) =>
      withBackups(context, options, (parts) => listNow(parts, options), { mayBeNew: true })
    )
}

/**
 * @param {BackupParts} parts
 * @param {{ json?: boolean }} options
 */
async function listNow(parts, { json }) {
  const { config, repository, print, tell } = parts
  const names = await repository.listGenerations()
  if (names.length === 0) {
    enterDataFolder(config.data, { exitCode: NOTHING_DONE })
    const isSetUp = (await readHostState(config.data)) !== null
    if (isSetUp) await requireNoneYet(parts)
    tell(
      isSetUp
        ? `No backup yet in ${repository.target.label}`
        : 'Backups are not set up here; first: letterlock backup init'
    )
  }
  for (const name of names) {
    const generation = await repository.readGeneration(name).catch((error) => {
      // Pruned since they were listed.
      if (isMailError(error, 'BACKUP_MISSING')) return null
      if (!isMailError(error, 'BACKUP_DAMAGED')) throw error
      tell(`${name}: ${error.message} (${error.detail})`)
      process.exitCode = SOME_FAILED
      return null
    })
    if (generation === null) continue
    const { accounts, failed, counts, startedAtMs, finishedAtMs } = generation
    const bytes = accounts.reduce((sum, entry) => sum + entry.bytes, 0)
    const figures = { accounts: accounts.length, failed: failed.length, bytes, ...counts }
    if (json) print(JSON.stringify({ name, startedAtMs, finishedAtMs, ...figures }))
    else
      print(
        `${name}\t${counted(accounts.length, 'account')}, ${formatBytes(bytes)}, ` +
          `${formatBytes(counts.newBytes)} new${failed.length > 0 ? `, ${failed.length} failed` : ''}`
      )
  }
}

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerPrune(backup, context) {
  backup
    .command('prune')
    .description('Remove the backups that are no longer kept, and what only they needed')
    .option('--dry-run', 'say what would go, remove nothing')
    .addHelpText('after', '\nExample:\n  letterlock backup prune --dry-run')
    .action((/** @type {CommonOptions & { dryRun?: boolean }} */ options) =>
      withBackups(context, options, async (parts) => {
        await pruneNow(parts, { isDryRun: options.dryRun === true })
      })
    )
}

/**
 * @param {BackupParts} parts
 * @param {{ isDryRun: boolean }} how
 * @returns {Promise<number>} the exit code
 */
async function pruneNow({ config, target, clock, logger, print }, { isDryRun }) {
  const { kept, dropped, objects, freedBytes, repackedBytes } = await pruneBackups({
    config,
    target,
    clock,
    logger,
    isDryRun
  })
  for (const name of dropped) print(`${isDryRun ? 'would drop' : 'dropped'} ${name}`)
  const anew = repackedBytes > 0 ? `, ${formatBytes(repackedBytes)} written anew` : ''
  print(
    `${counted(kept.length, 'backup')} kept, ${dropped.length} dropped, ${counted(objects, 'object')} ` +
      `(${formatBytes(freedBytes)}) ${isDryRun ? 'would go' : 'removed'}${anew}`
  )
  return 0
}

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerRehearse(backup, context) {
  backup
    .command('rehearse')
    .description('Restore some accounts, chosen at random, into a scratch folder and check them')
    .option('--accounts <number>', 'how many; default: backup.rehearsalAccounts', parseCount)
    .addHelpText(
      'after',
      '\nExit code: 0 all were good, 1 some were not, 2 nothing could be done.\n\nExample:\n  letterlock backup rehearse --accounts 10'
    )
    .action((/** @type {CommonOptions & { accounts?: number }} */ options) =>
      withBackups(context, options, async (parts) => {
        process.exitCode = await rehearseNow(parts, options.accounts)
      })
    )
}

/**
 * @param {string} text
 * @returns {number}
 * @throws {import('../cli-error.js').CliError} exit code 2
 */
const parseCount = (text) => wholeNumber(text, 'number of accounts', { least: 1 })

/**
 * @param {BackupParts} parts
 * @param {number} [accounts]
 * @returns {Promise<number>} the exit code
 */
async function rehearseNow({ config, target, clock, logger, print, tell }, accounts) {
  const summary = await rehearseRestore({
    config,
    target,
    clock,
    logger,
    ...(accounts !== undefined && { accounts })
  })
  for (const { id, code } of summary.failed) tell(`account ${id}: ${code}`)
  print(
    `${summary.generation}: ${counted(summary.accounts, 'account')} restored (${formatBytes(summary.bytes)}), ${summary.failed.length} failed`
  )
  return summary.failed.length === 0 ? 0 : SOME_FAILED
}

/**
 * What PM2 or cron start each night; without either, the server does so itself.
 *
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerNightly(backup, context) {
  backup
    .command('nightly')
    .description('The nightly job: run, prune, rehearse')
    .addHelpText(
      'after',
      '\nExit code: 0 all went well, 1 some accounts failed, or what follows the backup, 2 nothing was done.\n\nExample, for cron:\n  15 3 * * * /usr/local/bin/letterlock backup nightly'
    )
    .action((/** @type {CommonOptions} */ options) =>
      withBackups(
        context,
        options,
        async (parts) => {
          const codes = [await runNow(parts, context, { isLogged: true })]
          codes.push(await goOn(parts, 'prune', () => pruneNow(parts, { isDryRun: false })))
          if (parts.config.backup.rehearsalAccounts > 0)
            codes.push(await goOn(parts, 'rehearse', () => rehearseNow(parts)))
          process.exitCode = Math.max(...codes)
        },
        { isLogged: true }
      )
    )
}

/**
 * Runs a step that follows a backup. Its failure is told, and keeps no other step from being done.
 *
 * @param {BackupParts} parts
 * @param {string} name - of the command
 * @param {() => Promise<number>} work
 * @returns {Promise<number>} the exit code
 */
async function goOn({ tell }, name, work) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    tell(`backup ${name}: ${wordsOf(error)}`)
    return SOME_FAILED
  }
}

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
function registerSchedule(backup, context) {
  backup
    .command('schedule')
    .description('Wait for each night and start the nightly job, until told to stop')
    .addHelpText(
      'after',
      '\nFor a process manager that runs several workers, none of which does it (see ecosystem.config.js).\n\nExample:\n  letterlock backup schedule --data /var/lib/letterlock'
    )
    .action(async (/** @type {CommonOptions} */ options) => {
      const config = context.loadConfig(options)
      // `mayBeNew`, as PM2 may start this before the first worker.
      enterDataFolder(config.data, { mayBeNew: true })
      const schedule = scheduleNightly({
        settings: config.backup,
        hostId: await hostIdOf(config.data),
        command: nightlyCommand(options, config.data),
        isWanted: async () =>
          config.backup.isNightly && (await readHostState(config.data)) !== null,
        clock: systemClock,
        logger: createLogger({ level: config.log.level })
      })
      // Keeps the process alive, which the timers of the schedule do not.
      const alive = setInterval(() => {}, 2 ** 30)
      process.send?.('ready')
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      clearInterval(alive)
      await schedule.close()
    })
}
