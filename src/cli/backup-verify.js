/**
 * `letterlock backup verify`: every stored byte without a key, or one mailbox with its password.
 */
import { join } from 'node:path'
import { requireOwner } from '../accounts/check-credential.js'
import { chooseGeneration, noneYet, requireEntry } from '../backup/choose.js'
import { withBackupLock } from '../backup/scratch.js'
import { verifyBackups } from '../backup/verify.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { counted, formatBytes } from '../support/format.js'
import { CliError } from './cli-error.js'
import { formatTime, withAccounts, withSecret } from './with-accounts.js'
import { NOTHING_DONE, SOME_FAILED, withBackups } from './with-backups.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('./index.js').CliContext} CliContext
 * @typedef {import('./with-backups.js').BackupParts} BackupParts
 *
 * @typedef {import('./index.js').CommonOptions & { generation?: string, all?: boolean, quick?: boolean, passwordStdin?: boolean }} VerifyOptions
 */

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
export function registerVerify(backup, context) {
  backup
    .command('verify')
    .argument('[address]', 'open this account’s mailbox as well, with its password')
    .description('Check backups: without a key every stored byte, with a password a whole mailbox')
    .option('--generation <name>', 'this one; default: the last')
    .option('--all', 'all of them')
    .option('--quick', 'presence and sizes only, not every byte')
    .option('--password-stdin', 'read the password from standard input')
    .addHelpText(
      'after',
      '\nExit code: 0 all is well, 1 something is damaged, 2 nothing could be checked.\n\nExamples:\n  letterlock backup verify --all --quick\n  letterlock backup verify anna@example.org'
    )
    .action((/** @type {string | undefined} */ address, /** @type {VerifyOptions} */ options) => {
      if (options.all === true && (address !== undefined || options.generation !== undefined))
        throw new CliError('--all checks all backups: an address or --generation names one', {
          exitCode: NOTHING_DONE
        })
      if (options.quick === true && address !== undefined)
        throw new CliError('--quick reads no mailbox: with an address all of it is checked', {
          exitCode: NOTHING_DONE
        })
      const verify = async (/** @type {BackupParts} */ parts) => {
        process.exitCode =
          address === undefined
            ? await verifyStored(parts, options)
            : await verifyMailbox(parts, context, options, address)
      }
      // `mayBeNew`, as whoever has lost a host looks at its backups first, without a data folder.
      return withBackups(context, options, verify, { mayBeNew: address === undefined })
    })
}

/**
 * @param {BackupParts} parts
 * @param {VerifyOptions} options
 * @returns {Promise<number>} the exit code
 */
async function verifyStored({ repository, clock, print, tell }, { generation, all, quick }) {
  const wanted = { nowMs: clock.nowMs(), name: generation }
  const generations = all
    ? await repository.listGenerations()
    : [(await chooseGeneration(repository, wanted)).name]
  if (generations.length === 0) throw noneYet(repository)
  const report = await verifyBackups({ repository, generations, clock, isQuick: quick === true })
  for (const { generation: name, accountId, code, detail } of report.problems)
    tell(`${name}${accountId && ` account ${accountId}`}: ${code} ${detail}`)
  print(
    `${counted(report.generations, 'backup')}, ${counted(report.snapshots, 'mailbox', 'mailboxes')}, ${formatBytes(report.bytes)} read`
  )
  print(
    report.problems.length === 0 ? 'ok' : `damaged: ${counted(report.problems.length, 'problem')}`
  )
  return report.problems.length === 0 ? 0 : SOME_FAILED
}

/**
 * @param {BackupParts} parts
 * @param {CliContext} context
 * @param {VerifyOptions} options
 * @param {string} address
 * @returns {Promise<number>} the exit code
 */
async function verifyMailbox({ target, repository }, context, options, address) {
  return await withAccounts(context, options, async ({ services, input, print, tell }) => {
    const { config, clock } = services
    const account = await services.directory.findByAddress(address)
    if (!account) throw new CliError(`There is no account ${address}`, { exitCode: NOTHING_DONE })
    const wanted = { nowMs: clock.nowMs(), name: options.generation }
    const generation = await chooseGeneration(repository, wanted)
    const entry = requireEntry(generation, account.id)
    if (entry.keyEpoch !== account.keyEpoch)
      throw new CliError('The account has got another key since that backup', {
        exitCode: NOTHING_DONE
      })
    // Loaded only here, with all that a mailbox needs: most commands about backups open none.
    const { withOpenCopy } = await import('../backup/open-copy.js')
    const checked = await withSecret(await input.read(`Password of ${account.address}`), (secret) =>
      requireOwner({ services, account, secret })
    )
    using masterKey = checked.masterKey
    const report = await withBackupLock(config.data, async (scratchFolder) => {
      // While the password was typed, a prune may have moved what is in it.
      const now = requireEntry(await repository.readGeneration(generation.name), account.id)
      return await withOpenCopy(
        { target, entry: now, masterKey, clock, folder: join(scratchFolder, 'verify') },
        (store) => store.verify()
      )
    }).catch((error) => {
      const isDamage = ['BACKUP_DAMAGED', 'ACCOUNT_DAMAGED'].includes(errorCodeOf(error))
      if (!(error instanceof MailError) || !isDamage) throw error
      return error
    })
    if (report instanceof MailError) {
      tell(`${report.message} (${report.detail})`)
      return SOME_FAILED
    }
    const { problems, messages, bytes } = report
    for (const problem of problems) tell(problem)
    print(
      `as of ${formatTime(entry.copiedAtMs)}: ${counted(messages, 'message')}, ${formatBytes(bytes)} read`
    )
    print(problems.length === 0 ? 'ok' : `damaged: ${counted(problems.length, 'problem')}`)
    return problems.length === 0 ? 0 : SOME_FAILED
  })
}
