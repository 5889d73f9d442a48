/**
 * `letterlock account set` and `account alias`: what an operator changes about an account without its password.
 */
import { counted, formatBytes } from '../support/format.js'
import { CliError } from './cli-error.js'
import { wholeNumber } from './whole-number.js'
import { parseBytes, requireAccount, withAccounts } from './with-accounts.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('./with-accounts.js').CommandContext} CommandContext
 * @typedef {import('./index.js').CommonOptions} CommonOptions
 *
 * @typedef {object} SetOptions
 * @property {string} [quota]
 * @property {string} [quotaMessages]
 * @property {boolean} [enable]
 * @property {boolean} [disable]
 */

/**
 * @param {SetOptions} options
 * @returns {{ isEnabled?: boolean, quotaBytes?: number, quotaMessages?: number }}
 * @throws {CliError} exit code 2
 */
function changeOf({ quota, quotaMessages, enable, disable }) {
  if (enable && disable)
    throw new CliError('--enable and --disable exclude each other', { exitCode: 2 })
  const change = {
    ...(quota !== undefined && { quotaBytes: parseBytes(quota) }),
    ...(quotaMessages !== undefined && {
      quotaMessages: wholeNumber(quotaMessages, 'number of messages')
    }),
    ...(enable && { isEnabled: true }),
    ...(disable && { isEnabled: false })
  }
  if (Object.keys(change).length === 0)
    throw new CliError('Nothing to change was named', { exitCode: 2 })
  return change
}

/**
 * @param {Command} account
 * @param {CommandContext} context
 */
export function registerSettings(account, context) {
  account
    .command('set')
    .argument('<address>')
    .description(
      'Change quotas, or disable and enable an account; a disabled one takes neither logins nor mail'
    )
    .option('--quota <size>', 'for instance 2GB; 0 means no limit; holds within seconds')
    .option('--quota-messages <number>', '0 means no limit')
    .option('--enable', 'let the account log in and receive mail again')
    .option('--disable', 'end its sessions and refuse logins and mail; nothing is deleted')
    .addHelpText('after', '\nExample:\n  letterlock account set anna@example.org --quota 5GB')
    .action((/** @type {string} */ address, /** @type {CommonOptions & SetOptions} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        const { directory } = services
        const row = await requireAccount(services, address)
        const change = changeOf(options)
        await directory.updateAccount(row.id, change)
        directory.audit({ action: 'account-set', accountId: row.id, detail: change })
        const now = await requireAccount(services, row.address)
        const limit = now.quotaBytes === 0 ? 'no limit' : formatBytes(now.quotaBytes)
        const messages =
          now.quotaMessages === 0 ? 'any number of messages' : counted(now.quotaMessages, 'message')
        print(`${now.address}: ${limit}, ${messages}, ${now.isEnabled ? 'enabled' : 'disabled'}`)
      })
    )

  account
    .command('alias')
    .argument('<address>')
    .description('Show, add or remove other addresses of an account, for mail and for logging in')
    .option('--add <alias>', 'an address that nobody has')
    .option('--remove <alias>', 'one of its aliases')
    .addHelpText(
      'after',
      '\nExample:\n  letterlock account alias anna@example.org --add info@example.org'
    )
    .action(
      (
        /** @type {string} */ address,
        /** @type {CommonOptions & { add?: string, remove?: string }} */ { add, remove, ...options }
      ) =>
        withAccounts(context, options, async ({ services, print }) => {
          const { directory } = services
          const row = await requireAccount(services, address)
          if (add !== undefined) {
            await directory.addAlias(row.id, add)
            directory.audit({ action: 'alias-add', accountId: row.id })
          }
          if (remove !== undefined) {
            if (!(await directory.removeAlias(row.id, remove))) {
              throw new CliError(`${remove} is no alias of ${row.address}`)
            }
            directory.audit({ action: 'alias-remove', accountId: row.id })
          }
          for (const alias of await directory.listAliases(row.id)) print(alias)
        })
    )
}
