/**
 * `letterlock app-password`: create, list, revoke.
 */
import {
  createAppPassword,
  listAppPasswords,
  revokeAppPassword
} from '../../accounts/app-passwords.js'
import { dayBeginMs } from '../../support/calendar-day.js'
import { CliError } from '../cli-error.js'
import { plainJson, plainText } from '../plain-text.js'
import { formatTime, requireAccount, withAccounts, withSecret } from '../with-accounts.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {CommonOptions & { passwordStdin?: boolean, label: string, readOnly?: boolean, expires?: string }} CreateOptions
 */

const DAY_MS = 24 * 3_600_000

/**
 * @param {Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  const group = program
    .command('app-password')
    .description('One password for each device, made by the server and revoked one by one')
  registerCreate(group, context)
  registerList(group, context)
  registerRevoke(group, context)
}

/**
 * @param {string | undefined} text - `90d`, or a date as 2027-01-31, which counts to its end in UTC
 * @param {number} nowMs
 * @returns {number | null}
 * @throws {CliError}
 */
export function parseExpiry(text, nowMs) {
  if (text === undefined) return null
  const days = /^(\d{1,5})d$/.exec(text)?.[1]
  const atMs = days ? nowMs + Number(days) * DAY_MS : dayBeginMs(text) + DAY_MS
  if (atMs > nowMs) return atMs
  throw new CliError(`${text} is no time to come: write for instance 90d or 2099-12-31`, {
    exitCode: 2
  })
}

/**
 * @param {Command} group
 * @param {CommandContext} context
 */
function registerCreate(group, context) {
  group
    .command('create')
    .argument('<address>')
    .description('Make an app password; needs the account’s password or recovery code')
    .option('--label <text>', 'the device that it is for', '')
    .option('--read-only', 'it may read mail and change nothing')
    .option('--expires <when>', 'for instance 90d or 2099-12-31')
    .option('--password-stdin', 'read the account’s password from the first line of standard input')
    .addHelpText(
      'after',
      '\nExample:\n  letterlock app-password create anna@example.org --label phone'
    )
    .action((/** @type {string} */ address, /** @type {CreateOptions} */ options) =>
      withAccounts(context, options, async ({ services, input, print, tell }) => {
        const account = await requireAccount(services, address)
        const expiresAtMs = parseExpiry(options.expires, context.clock.nowMs())
        const secret = await input.read(`Password of ${account.address}`)
        const { appPassword, text } = await withSecret(secret, () =>
          createAppPassword({
            services,
            account,
            secret,
            label: options.label,
            scope: options.readOnly ? 'read-only' : 'read-write',
            expiresAtMs
          })
        )
        print(text)
        tell(`This is app password ${appPassword.id}; it is shown this once.`)
      })
    )
}

/**
 * @param {Command} group
 * @param {CommandContext} context
 */
function registerList(group, context) {
  group
    .command('list')
    .argument('<address>')
    .description('List the app passwords of an account')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', '\nExample:\n  letterlock app-password list anna@example.org')
    .action(
      (/** @type {string} */ address, /** @type {CommonOptions & { json?: boolean }} */ options) =>
        withAccounts(context, options, async ({ services, print }) => {
          const account = await requireAccount(services, address)
          for (const row of await listAppPasswords({ services, account })) {
            if (options.json) print(plainJson(row))
            else {
              const expiry =
                row.expiresAtMs === null ? '' : `\texpires ${formatTime(row.expiresAtMs)}`
              print(
                `${row.id}\t${plainText(row.label)}\t${row.scope}\tlast used ${formatTime(row.lastUsedAtMs)}${expiry}`
              )
            }
          }
        })
    )
}

/**
 * @param {Command} group
 * @param {CommandContext} context
 */
function registerRevoke(group, context) {
  group
    .command('revoke')
    .argument('<address>')
    .argument('<id>', 'as `app-password list` shows it')
    .description('Revoke an app password; its sessions end')
    .addHelpText(
      'after',
      '\nExample:\n  letterlock app-password revoke anna@example.org 0123456789abcdef'
    )
    .action(
      (
        /** @type {string} */ address,
        /** @type {string} */ credentialId,
        /** @type {CommonOptions} */ options
      ) =>
        withAccounts(context, options, async ({ services, print, tell }) => {
          const account = await requireAccount(services, address)
          const { label } = await revokeAppPassword({ services, account, credentialId })
          print(`revoked ${credentialId} ${plainText(label)}`.trimEnd())
          tell(
            'If the code and a copy of the directory may be in the same hands, run `account rekey` as well.'
          )
        })
    )
}
