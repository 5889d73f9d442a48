/**
 * `letterlock token`: create, list, revoke. The tokens open the admin interface and the dashboard.
 */
import { API_SCOPES, createApiToken, revokeApiToken } from '../../accounts/api-tokens.js'
import { isMailError } from '../../errors.js'
import { CliError } from '../cli-error.js'
import { plainText } from '../plain-text.js'
import { formatTime, withAccounts } from '../with-accounts.js'
import { parseExpiry } from './app-password.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {CommonOptions & { label: string, scope: string[], tenant?: string, expires?: string }} CreateOptions
 * @typedef {import('../../accounts/directory-port.js').ApiScope} ApiScope
 */

/**
 * @param {Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  const group = program
    .command('token')
    .description('Bearer tokens for the admin interface and the dashboard')
  registerCreate(group, context)
  registerList(group, context)
  registerRevoke(group, context)
}

/**
 * @param {string[]} wanted
 * @returns {ApiScope[]}
 * @throws {CliError}
 */
function scopesOf(wanted) {
  const names = wanted.flatMap((text) => text.split(','))
  const scopes = API_SCOPES.filter((scope) => names.includes(scope))
  const unknown = names.find((name) => !API_SCOPES.includes(/** @type {ApiScope} */ (name)))
  if (unknown === undefined) return scopes
  throw new CliError(`${unknown} is no scope: there are ${API_SCOPES.join(', ')}`, { exitCode: 2 })
}

/**
 * @param {Command} group
 * @param {CommandContext} context
 */
function registerCreate(group, context) {
  group
    .command('create')
    .description('Make a token, and show it this once')
    .option('--label <text>', 'what it is for', '')
    .option(
      '--scope <scopes...>',
      'read (see everything but secrets), accounts (change accounts), backups (see backups), all',
      ['read']
    )
    .option('--tenant <tenant>', 'it sees and touches this tenant alone')
    .option('--expires <when>', 'for instance 90d or 2099-12-31')
    .addHelpText(
      'after',
      '\nExamples:\n  letterlock token create --label dashboard --scope read\n  letterlock token create --scope accounts --tenant example.org --expires 90d'
    )
    .action((/** @type {CreateOptions} */ options) =>
      withAccounts(context, options, async ({ services, print, tell }) => {
        const { token, text } = await createApiToken({
          services,
          label: options.label,
          scopes: scopesOf(options.scope),
          tenant: options.tenant ?? null,
          expiresAtMs: parseExpiry(options.expires, context.clock.nowMs())
        }).catch((error) => {
          if (!isMailError(error, 'TENANT_NOT_FOUND')) throw error
          throw new CliError(`There is no tenant ${options.tenant}: letterlock tenant list`)
        })
        print(text)
        tell(`This is token ${token.id}; it is shown this once.`)
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
    .description('List the tokens')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', '\nExample:\n  letterlock token list')
    .action((/** @type {CommonOptions & { json?: boolean }} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        for (const token of await services.directory.listApiTokens()) {
          if (options.json) print(JSON.stringify(token))
          else {
            const { id, label, scopes, tenant, lastUsedAtMs, expiresAtMs } = token
            const expiry = expiresAtMs === null ? '' : `\texpires ${formatTime(expiresAtMs)}`
            print(
              `${id}\t${plainText(label)}\t${scopes.join(',')}\t${tenant ?? 'every tenant'}\tlast used ${formatTime(lastUsedAtMs)}${expiry}`
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
    .argument('<id>', 'as `token list` shows it')
    .description('Revoke a token, at once')
    .addHelpText('after', '\nExample:\n  letterlock token revoke 0123456789abcdef')
    .action((/** @type {string} */ id, /** @type {CommonOptions} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        await revokeApiToken({ services, id }).catch((error) => {
          if (!isMailError(error, 'CREDENTIAL_NOT_FOUND')) throw error
          throw new CliError(`There is no token ${id}`)
        })
        print(`revoked ${id}`)
      })
    )
}
