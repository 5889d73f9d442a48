/**
 * `letterlock account`: create, list, show, delete, passwd, rekey; set and alias are in account-settings.js.
 */
import { join } from 'node:path'
import { changePassword, resetAccount } from '../../accounts/change-password.js'
import { provisionAccount, requireNewAddress } from '../../accounts/provision.js'
import { rekeyAccount } from '../../accounts/rekey.js'
import { deleteAccount } from '../../accounts/remove-account.js'
import { readHostState } from '../../backup/host-state.js'
import { measureSpool } from '../../delivery/spool.js'
import { counted, formatBytes } from '../../support/format.js'
import { createBatch } from '../account-batch.js'
import { registerSettings } from '../account-settings.js'
import { CliError } from '../cli-error.js'
import { explainOpenElsewhere } from '../open-elsewhere.js'
import { writeOut } from '../outputs.js'
import { plainJson, plainText } from '../plain-text.js'
import {
  formatTime,
  parseBytes,
  parseDomain,
  requireAccount,
  requireOwnAddress,
  withAccounts,
  withSecret
} from '../with-accounts.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {CommonOptions & { passwordStdin?: boolean }} PasswordOptions
 */

const PASSWORD_STDIN = '--password-stdin'

const KEEP_CODE =
  'Keep it off this machine: it is shown this once, and it is the only way to the mail if the password is lost.'

/** @param {string} code */
const recoveryNote = (code) => `recovery code: ${code}\n${KEEP_CODE}`

/**
 * @param {Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  const account = program.command('account').description('Create and look after accounts')
  registerCreate(account, context)
  registerList(account, context)
  registerShow(account, context)
  registerDelete(account, context)
  registerPasswd(account, context)
  registerRekey(account, context)
  registerSettings(account, context)
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
function registerCreate(account, context) {
  account
    .command('create')
    .argument('[address]', 'for instance anna@example.org')
    .description('Create an account, or many with --batch')
    .option(PASSWORD_STDIN, 'read the password from the first line of standard input')
    .option('--batch <file>', 'lines of address<TAB>password; - reads standard input')
    .option('--quota <size>', 'for instance 2GB; 0 means no limit')
    .addHelpText('after', '\nExample:\n  letterlock account create anna@example.org')
    .action(
      (
        /** @type {string | undefined} */ address,
        /** @type {PasswordOptions & { batch?: string, quota?: string }} */ options
      ) => runCreate(context, address, options)
    )
}

/**
 * @param {CommandContext} context
 * @param {string | undefined} address
 * @param {PasswordOptions & { batch?: string, quota?: string }} options
 */
async function runCreate(context, address, options) {
  if ((address === undefined) === (options.batch === undefined)) {
    throw new CliError('Give either an address or --batch FILE', { exitCode: 2 })
  }
  const quota = options.quota === undefined ? {} : { quotaBytes: parseBytes(options.quota) }
  /** @type {Parameters<typeof withAccounts>[2]} */
  const make = async ({ services, input, print, tell }) => {
    if (options.batch !== undefined) {
      const { created, failed } = await createBatch({
        services,
        file: options.batch,
        stdin: context.stdin,
        quota,
        onCreated: ({ address: made, recoveryCode }) =>
          writeOut(context.stdout, `${made}\t${recoveryCode}\n`),
        onFailed: ({ line, reason }) => tell(`line ${line}: ${reason}`)
      })
      tell(`${created} created, ${failed} failed; the codes above are shown this once`)
      if (failed > 0) throw new CliError(`${failed} of the lines made no account`)
      return
    }
    const wanted = { services, address: /** @type {string} */ (address) }
    await requireNewAddress(wanted)
    const password = await input.readNew(`Password of ${address}`)
    const made = await withSecret(password, () =>
      provisionAccount({ ...wanted, password, ...quota })
    )
    made.masterKey.dispose()
    print(`created ${made.account.address}`)
    print(recoveryNote(made.recoveryCode))
  }
  await withAccounts(context, options, make, { mayBeNew: true })
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
function registerList(account, context) {
  account
    .command('list')
    .description('List the accounts')
    .option('--domain <domain>', 'of this domain only')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', '\nExample:\n  letterlock account list --domain example.org')
    .action((/** @type {CommonOptions & { domain?: string, json?: boolean }} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        const filter = options.domain === undefined ? {} : { domain: parseDomain(options.domain) }
        for (const row of await services.directory.listAccounts(filter)) {
          if (options.json) print(JSON.stringify(publicAccount(row)))
          else {
            const use = `${counted(row.usedMessages, 'message')}, ${formatBytes(row.usedBytes)}`
            print(`${row.address}\t${use}${row.isEnabled ? '' : '\tdisabled'}`)
          }
        }
      })
    )
}

/**
 * @param {import('../../accounts/directory-port.js').Account} account
 * @returns {Record<string, unknown>} what --json shows: no key, wrapped or public
 */
function publicAccount({ sealPublicKey, sealRecipient, ...account }) {
  return account
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
function registerShow(account, context) {
  account
    .command('show')
    .argument('<address>')
    .description('Show an account: folder, quota, aliases, credentials')
    .option('--json', 'one JSON object')
    .addHelpText('after', '\nExample:\n  letterlock account show anna@example.org')
    .action(
      (/** @type {string} */ address, /** @type {CommonOptions & { json?: boolean }} */ options) =>
        withAccounts(context, options, async ({ services, print }) => {
          const { directory } = services
          const row = await requireAccount(services, address)
          const aliases = await directory.listAliases(row.id)
          const credentials = (await directory.listCredentials(row.id)).map(
            ({ id, kind, label, scope, expiresAtMs, createdAtMs, changedAtMs, lastUsedAtMs }) => ({
              id,
              kind,
              label,
              scope,
              expiresAtMs,
              createdAtMs,
              changedAtMs,
              lastUsedAtMs
            })
          )
          if (options.json) {
            print(plainJson({ ...publicAccount(row), aliases, credentials }))
            return
          }
          const limits = [
            ...(row.quotaBytes > 0 ? [formatBytes(row.quotaBytes)] : []),
            ...(row.quotaMessages > 0 ? [counted(row.quotaMessages, 'message')] : [])
          ]
          const limit = limits.length === 0 ? 'no limit' : `at most ${limits.join(', ')}`
          print(`address    ${row.address}${row.isEnabled ? '' : ' (disabled)'}`)
          print(`id         ${row.id}`)
          print(`folder     ${row.folder}`)
          print(`created    ${formatTime(row.createdAtMs)}`)
          print(
            `used       ${counted(row.usedMessages, 'message')}, ${formatBytes(row.usedBytes)} (${limit})`
          )
          print(`key epoch  ${row.keyEpoch}`)
          if (aliases.length > 0) print(`aliases    ${aliases.join(', ')}`)
          for (const { id, kind, label, scope, expiresAtMs, lastUsedAtMs } of credentials) {
            const expiry = expiresAtMs === null ? '' : `, expires ${formatTime(expiresAtMs)}`
            const name = label === '' ? kind : `${kind} “${plainText(label)}”`
            print(`${id}  ${name}, ${scope}, last used ${formatTime(lastUsedAtMs)}${expiry}`)
          }
        })
    )
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
function registerDelete(account, context) {
  account
    .command('delete')
    .argument('<address>')
    .description(
      'Destroy the keys of an account, then its files; backups keep them for backup.eraseDeletedAfterDays'
    )
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  letterlock account delete anna@example.org')
    .action(
      (/** @type {string} */ address, /** @type {CommonOptions & { yes?: boolean }} */ options) =>
        withAccounts(context, options, async ({ services, input, print, tell }) => {
          const row = await requireAccount(services, address)
          if (options.yes) requireOwnAddress(services, row, address)
          else {
            tell(
              `All mail of ${row.address} will be lost for good${await exceptBackups(services)}.`
            )
            await input.confirm('Type the address to go on', row.address)
          }
          const { isRemoved } = await deleteAccount({ services, account: row })
          print(`deleted ${row.address}`)
          if (!isRemoved) tell('The mailbox is still open; its files go when it is closed.')
        })
    )
}

/**
 * @param {import('../../accounts/services.js').AccountServices} services
 * @returns {Promise<string>} what still brings an account back that is deleted now; empty where no backup does
 */
async function exceptBackups({ config: { data, backup } }) {
  const days = backup.eraseDeletedAfterDays
  if (days === 0 || (await readHostState(data)) === null) return ''
  return `, except in backups: they bring it back with their recovery key for ${counted(days, 'day')} (backup.eraseDeletedAfterDays)`
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
function registerPasswd(account, context) {
  account
    .command('passwd')
    .argument('<address>')
    .description('Change the password; all mail stays')
    .option(
      PASSWORD_STDIN,
      'read lines of standard input: the old password or the recovery code, then the new password'
    )
    .option('--lose-mail', 'without the old password: all mail of the account is destroyed')
    .option('--yes', 'with --lose-mail: do not ask')
    .addHelpText('after', '\nExample:\n  letterlock account passwd anna@example.org')
    .action(
      (
        /** @type {string} */ address,
        /** @type {PasswordOptions & { loseMail?: boolean, yes?: boolean }} */ options
      ) => runPasswd(context, address, options)
    )
}

/**
 * @param {CommandContext} context
 * @param {string} address
 * @param {PasswordOptions & { loseMail?: boolean, yes?: boolean }} options
 */
async function runPasswd(context, address, options) {
  await withAccounts(context, options, async ({ services, input, print, tell }) => {
    const row = await requireAccount(services, address)
    if (options.loseMail) {
      if (options.yes) requireOwnAddress(services, row, address)
      const { messages: waiting } = await measureSpool(join(row.folder, 'spool'))
      tell(
        `This destroys, for good: all mail of ${row.address} (${counted(row.usedMessages, 'message')}, and ${counted(waiting, 'that waits', 'that wait')} ` +
          'for the next login); its app passwords; its recovery code. Backups of before open only with their ' +
          'recovery key and what opened the account then.'
      )
      if (!options.yes) {
        await input.confirm('Type the address to go on', row.address)
        await input.confirm('Type “lose all mail” to destroy it', 'lose all mail')
      }
      const newPassword = await input.readNew('New password')
      const reset = await withSecret(newPassword, () =>
        resetAccount({ services, account: row, newPassword })
      )
      print(`${row.address} has a new, empty mailbox`)
      print(recoveryNote(reset.recoveryCode))
      if (!reset.isRemoved) tell('The old mailbox is still open; its files go when it is closed.')
      return
    }
    const oldSecret = await input.read('Old password or recovery code')
    await withSecret(oldSecret, async () => {
      const newPassword = await input.readNew('New password')
      const { recoveryCode } = await withSecret(newPassword, () =>
        changePassword({ services, account: row, oldSecret, newPassword })
      )
      print(`changed the password of ${row.address}`)
      if (recoveryCode !== null) print(recoveryNote(recoveryCode))
    })
  })
}

/**
 * @param {unknown} error
 * @returns {never}
 */
function explainBusy(error) {
  const words = explainOpenElsewhere(error)
  throw words === null ? error : new CliError(words, { cause: error })
}

/**
 * @param {import('../../accounts/services.js').AccountServices} services
 * @param {import('../../accounts/directory-port.js').Account} account - whose rekey has failed after its code was told
 * @returns {Promise<string>}
 */
async function whichCodeOpens({ directory }, { id, keyEpoch }) {
  const isUnchanged = await Promise.all([directory.findRekey(id), directory.findAccount(id)]).then(
    ([pending, now]) => pending === null && now?.keyEpoch === keyEpoch,
    () => false
  )
  return isUnchanged
    ? 'Nothing has changed: the recovery code above opens nothing, the old one stays.'
    : 'The next login finds out whether the keys have changed. Until then keep the recovery code above and the old one.'
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
function registerRekey(account, context) {
  account
    .command('rekey')
    .argument('<address>')
    .description(
      'Make a new master key: old copies of credentials and directory open nothing any more'
    )
    .option(PASSWORD_STDIN, 'read the password from the first line of standard input')
    .addHelpText('after', '\nExample:\n  letterlock account rekey anna@example.org')
    .action((/** @type {string} */ address, /** @type {PasswordOptions} */ options) =>
      withAccounts(context, options, async ({ services, input, print, tell }) => {
        const row = await requireAccount(services, address)
        const password = await input.read(`Password of ${row.address}`)
        let isTold = false
        const onRecoveryCode = async (/** @type {string} */ code) => {
          await writeOut(context.stdout, `recovery code: ${code}\n`)
          isTold = true
        }
        const { revoked, isFinished } = await withSecret(password, () =>
          rekeyAccount({ services, account: row, password, onRecoveryCode })
        ).catch(async (error) => {
          if (isTold) tell(await whichCodeOpens(services, row))
          return explainBusy(error)
        })
        print(`${row.address} has a new master key, and that code opens it`)
        print(KEEP_CODE)
        if (!isFinished)
          tell(
            'The directory cannot be written now: old credentials open nothing from the next login on.'
          )
        for (const { id, label } of revoked)
          print(`revoked app password ${id} ${plainText(label)}`.trimEnd())
        if (revoked.length > 0) {
          print('Their codes are known to their devices alone: create new ones.')
        }
      })
    )
}
