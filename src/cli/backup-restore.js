/**
 * `letterlock backup restore`: an account, an account under another name, a folder or message, a whole host.
 */
import { join } from 'node:path'
import { parseAddress } from '../accounts/address.js'
import { chooseGeneration, requireEntry } from '../backup/choose.js'
import { findDeleted } from '../backup/find-deleted.js'
import { inOrder } from '../backup/generation-order.js'
import { restoreAccount } from '../backup/restore-account.js'
import { restoreAs } from '../backup/restore-as.js'
import { restoreDeleted } from '../backup/restore-deleted.js'
import { restoreHost } from '../backup/restore-host.js'
import { withBackupLock } from '../backup/scratch.js'
import { openKeys } from '../backup/sealed-directory.js'
import { RecoveryKey } from '../backup/sealed.js'
import { takeMessages } from './backup-messages.js'
import { BackupProgress } from './backup-progress.js'
import { CliError } from './cli-error.js'
import { PasswordInput } from './password-input.js'
import { formatTime, parseTime, withAccounts, withSecret } from './with-accounts.js'
import { NOTHING_DONE, withBackups } from './with-backups.js'
import { counted } from '../support/format.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('./index.js').CliContext} CliContext
 * @typedef {import('./with-backups.js').BackupParts} BackupParts
 * @typedef {import('../backup/repository.js').Generation} Generation
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/services.js').AccountServices} AccountServices
 *
 * @typedef {import('./index.js').CommonOptions & { generation?: string, at?: string, as?: string, folder?: string,
 *   messageId?: string, host?: boolean, passwordStdin?: boolean, yes?: boolean }} RestoreOptions
 *
 * @typedef {object} AccountRestore
 * @property {BackupParts} parts
 * @property {AccountServices} services
 * @property {PasswordInput} input
 * @property {Generation} generation
 * @property {RestoreOptions} options
 * @property {<T>(work: (scratchFolder: string) => Promise<T>) => Promise<T>} alone - runs `work` while no other command about
 *   backups runs; not to be held while a person is asked, who may take a night
 * @property {() => Promise<Generation>} read - the generation as it is now: a prune may have moved what is in it
 * @property {(bytes: number) => void} onRead
 */

const HELP = `
One account: its mailbox becomes what it was then. What is there now is kept in a folder beside it, and mail
that waits in the spool stays. Its sessions are ended for a moment. The server may run.

  letterlock backup restore anna@example.org
  letterlock backup restore anna@example.org --at 2026-11-20

Under another name, with the account's password; the present mailbox is not touched:

  letterlock backup restore anna@example.org --as anna-old@example.org

A folder, or a message, into “Restored <day>/…” of the present mailbox, with the account's password:

  letterlock backup restore anna@example.org --folder Invoices
  letterlock backup restore anna@example.org --message-id '<1234@example.net>'

A deleted account, out of the last backup that has it, with the recovery key of the backups; the same command as
for one that is there.

A whole host, onto an empty data folder, with the recovery key of the backups:

  letterlock backup restore --host --data /var/lib/letterlock

Exit code: 0 all of it is back, 1 some is not, or the backup has no such thing, 2 nothing was done.`

/**
 * @param {Command} backup
 * @param {CliContext} context
 */
export function registerRestore(backup, context) {
  backup
    .command('restore')
    .argument('[address]', 'whose mailbox')
    .description('Restore an account, some of its mail, or the whole host')
    .option('--generation <name>', 'out of this backup; default: the last')
    .option(
      '--at <time>',
      'out of the last backup that had begun by then; UTC unless it names a zone, a bare day to its end'
    )
    .option('--as <address>', 'as an account of its own under this name')
    .option('--folder <name>', 'this folder only')
    .option('--message-id <id>', 'messages with this Message-ID only')
    .option('--host', 'everything, onto an empty data folder')
    .option('--yes', 'do not ask before a mailbox is replaced')
    .option(
      '--password-stdin',
      'read passwords and the recovery key from standard input, a line each; implies --yes'
    )
    .addHelpText('after', HELP)
    .action((/** @type {string | undefined} */ address, /** @type {RestoreOptions} */ options) => {
      if ((address === undefined) !== (options.host === true))
        throw new CliError('Give either an address or --host', { exitCode: NOTHING_DONE })
      requireTogether(options)
      const restore = async (/** @type {BackupParts} */ parts) => {
        const generation = await chooseGeneration(parts.repository, {
          nowMs: parts.clock.nowMs(),
          name: options.generation,
          atMs: options.at === undefined ? undefined : parseTime(options.at, { isWholeDay: true })
        })
        if (address === undefined) await runHost(parts, context, options, generation)
        else await runAccount(parts, context, options, generation, address)
      }
      return withBackups(context, options, restore, { mayBeNew: address === undefined })
    })
}

/** @param {RestoreOptions} options */
const isPart = ({ folder, messageId }) => folder !== undefined || messageId !== undefined

/**
 * Refuses options of which one would be ignored: more would come back than was asked for.
 *
 * @param {RestoreOptions} options
 * @throws {CliError}
 */
function requireTogether(options) {
  const { host, as, generation, at } = options
  const refuse = (/** @type {string} */ text) => {
    throw new CliError(text, { exitCode: NOTHING_DONE })
  }
  if (host === true && (as !== undefined || isPart(options)))
    refuse('--host restores everything: --as, --folder and --message-id go with an address')
  if (as !== undefined && isPart(options))
    refuse('--as restores the whole mailbox: --folder and --message-id go into the present one')
  if (generation !== undefined && at !== undefined) refuse('Give either --generation or --at')
}

/**
 * @param {PasswordInput} input
 * @returns {Promise<RecoveryKey>}
 */
const askRecoveryKey = async (input) =>
  await withSecret(
    await input.read('Recovery key of the backups (AGE-SECRET-KEY-…)'),
    async (text) => RecoveryKey.parse(text.toString('latin1'))
  )

/**
 * @param {BackupParts} parts
 * @param {CliContext} context
 * @param {RestoreOptions} options
 * @param {Generation} generation
 */
async function runHost(parts, { stdin, stderr, stdout }, options, generation) {
  const { config, repository, clock, logger, print, tell } = parts
  const input = new PasswordInput({ stdin, stderr, isStdin: options.passwordStdin === true })
  const bar = new BackupProgress(stdout, 'restoring')
  try {
    const recoveryKey = await askRecoveryKey(input)
    const { accounts, missing } = await restoreHost({
      config,
      repository,
      generation,
      recoveryKey,
      clock,
      logger,
      onProgress: (progress) => bar.update(progress)
    })
    bar.stop()
    for (const { address, code } of missing) tell(`not restored: ${address} (${code})`)
    print(
      `${counted(accounts, 'account')} restored from ${generation.name}, ${missing.length} missing`
    )
    print('Start the server: every password, app password and recovery code is as it was then.')
    print(
      `Backups are not made here yet: those in ${repository.target.label} belong to the first host. Once that is gone for good: letterlock backup take-over`
    )
    if (missing.length > 0) process.exitCode = 1
  } finally {
    bar.stop()
    await input.close()
  }
}

/**
 * @param {BackupParts} parts
 * @param {CliContext} context
 * @param {RestoreOptions} options
 * @param {Generation} generation
 * @param {string} name - the address
 */
async function runAccount(parts, context, options, generation, name) {
  const { config, repository } = parts
  await withAccounts(context, options, async ({ services, input }) => {
    const { address } = parseAddress(name, { defaultDomain: config.defaultDomain })
    const holder = await services.directory.findByAddress(address)
    // Where the name is an alias now, an account may be meant that had this address and was deleted.
    const account = holder?.address === address ? holder : null
    const bar = new BackupProgress(context.stdout, 'restoring')
    let bytes = 0
    const onRead = (/** @type {number} */ count) => {
      bytes += count
      const entry = generation.accounts.find(({ id }) => id === account?.id)
      bar.update({ accounts: 0, accountsTotal: 1, bytes, bytesTotal: entry?.bytes ?? 0 })
    }
    // Ends the bar first, which would write over a text on its line, be it a recovery code.
    const below = (/** @type {(line: string) => void} */ say) => (/** @type {string} */ line) => {
      bar.stop()
      say(line)
    }
    /** @type {AccountRestore} */
    const restore = {
      parts: { ...parts, print: below(parts.print), tell: below(parts.tell) },
      services,
      input,
      generation,
      options,
      alone: (work) => withBackupLock(config.data, work),
      read: () => repository.readGeneration(generation.name),
      onRead
    }
    try {
      // Fails here, before anybody is asked for anything, where another command has the lock.
      await restore.alone(async () => {})
      const isOfThen = generation.accounts.some(({ id }) => id === account?.id)
      if (!account || (!isOfThen && options.as !== undefined))
        await bringBack(restore, address, holder)
      else if (options.as !== undefined) await restoreUnderName(restore, account, options.as)
      else if (isPart(options)) await takeMessages(restore, account)
      else await putBack(restore, account)
    } finally {
      bar.stop()
    }
  })
}

/**
 * @param {AccountRestore} restore
 * @param {string} address - canonical
 * @param {Account | null} holder - that has the address now, as its own or as an alias
 */
async function bringBack(restore, address, holder) {
  const { parts, services, input, options, onRead } = restore
  const { repository, target, config, clock, logger, print, tell } = parts
  const why = whyDeleted(restore, address, holder)
  if (isPart(options))
    throw new CliError(
      `${why}: a deleted one comes back as a whole, without --folder and --message-id`,
      { exitCode: NOTHING_DONE }
    )
  tell(`${why}. To look for a deleted one, the recovery key of the backups is needed`)
  const recoveryKey = await askRecoveryKey(input)
  const { generation, found, ...restored } = await restore.alone(async (scratchFolder) => {
    const names = await generationsToSearch(restore)
    const scratchFile = join(scratchFolder, 'directory.db')
    const dataFolder = config.data
    const search = { target, recoveryKey, address, scratchFile, dataFolder, clock, logger }
    const last = await findDeleted({ repository, names, search })
    if (last === null)
      throw new CliError(
        `${address} is in none of ${counted(names.length, 'backup')}, ${names.at(-1)} to ${names[0]}`
      )
    const back = await restoreDeleted({
      ...last,
      services,
      target,
      recoveryKey,
      onRead,
      ...(options.as !== undefined && { address: options.as })
    })
    return { ...last, ...back }
  })
  const { account, lostAliases, isTenantLost } = restored
  for (const alias of lostAliases) tell(`the alias ${alias} belongs to another account now`)
  if (isTenantLost)
    tell(`the tenant ${found.ownTenant} is gone: the account is in ${account.tenant} now`)
  if (!account.isEnabled)
    tell(`it is disabled, as it was: letterlock account set ${account.address} --enable`)
  print(`${account.address} is back, with its credentials of ${generation.name}`)
}

/**
 * @param {AccountRestore} restore
 * @param {string} address - canonical
 * @param {Account | null} holder
 * @returns {string} why the address does not mean an account of today
 */
function whyDeleted({ generation }, address, holder) {
  if (holder === null) return `There is no account ${address} now`
  if (holder.address !== address) return `${address} is another name of ${holder.address} now`
  return `${generation.name} does not have the account that is ${address} now`
}

/**
 * @param {AccountRestore} restore
 * @returns {Promise<string[]>} the generation that was asked for by name or time; otherwise all, the last one first
 */
async function generationsToSearch({ parts, generation, options }) {
  if (options.generation !== undefined || options.at !== undefined) return [generation.name]
  const names = await parts.repository.listGenerations()
  return inOrder(names, parts.clock.nowMs()).reverse()
}

/**
 * @param {AccountRestore} restore
 * @param {Account} account
 */
async function putBack(restore, account) {
  const { parts, services, input, generation, options, onRead } = restore
  const { target, config, clock, print } = parts
  const entry = requireEntry(generation, account.id)
  const asOf = formatTime(entry.copiedAtMs)
  if (options.yes !== true && options.passwordStdin !== true)
    await input.confirm(
      `The mailbox of ${account.address} becomes what it was at ${asOf}. Type the address`,
      account.address
    )
  const { replaced } = await restore.alone(async () =>
    restoreAccount({
      directory: services.directory,
      target,
      generation: await restore.read(),
      account,
      data: config.data,
      clock,
      onRead
    })
  )
  services.directory.audit({
    action: 'restore',
    accountId: account.id,
    detail: { generation: generation.name }
  })
  print(`${account.address} is as it was at ${asOf}`)
  if (replaced !== null) print(`the mailbox of before is kept in ${replaced}`)
}

/**
 * @param {AccountRestore} restore
 * @param {Account} account
 * @returns {Promise<import('../accounts/directory-snapshot.js').AccountKeys | null>} null: the keys of today open the backup
 */
async function keysOfThen({ parts, input, generation }, account) {
  const entry = requireEntry(generation, account.id)
  if (entry.keyEpoch === account.keyEpoch) return null
  parts.tell('the account has got another key since: the recovery key of the backups is needed')
  return await openKeys(parts.target, entry, await askRecoveryKey(input))
}

/**
 * @param {AccountRestore} restore
 * @param {Account} account
 * @param {string} name
 */
async function restoreUnderName(restore, account, name) {
  const { parts, services, input, generation, onRead } = restore
  const { target, print } = parts
  const keys = await keysOfThen(restore, account)
  const when = keys ? ` of ${generation.name}` : ''
  const made = await withSecret(
    await input.read(`Password of ${account.address}${when}`),
    (password) =>
      restore.alone(async () => {
        const now = await restore.read()
        const made = { services, target, generation: now, account, keys, address: name }
        return await restoreAs({ ...made, password, onRead })
      })
  )
  print(`${made.account.address} has the mail of ${generation.name}, and the same password`)
  print(`recovery code: ${made.recoveryCode}`)
}
