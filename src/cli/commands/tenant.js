/**
 * `letterlock tenant`: list, create, set, assign, delete.
 */
import { requireLabel } from '../../accounts/label.js'
import { TENANT_ID_PATTERN } from '../../accounts/tenant-id.js'
import { MailError } from '../../errors.js'
import { counted, formatBytes } from '../../support/format.js'
import { CliError } from '../cli-error.js'
import { wholeNumber } from '../whole-number.js'
import { parseBytes, parseDomain, withAccounts } from '../with-accounts.js'

/**
 * @typedef {import('commander').Command} Command
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {CommonOptions & { label?: string, quota?: string, accounts?: string }} SetOptions
 */

const TENANT_ID = new RegExp(TENANT_ID_PATTERN)

/**
 * @param {SetOptions} options
 * @returns {{ label?: string, quotaBytes?: number, maxAccounts?: number }}
 * @throws {CliError | MailError} exit code 2; LIMIT, LABEL_REFUSED
 */
function changeOf({ label, quota, accounts }) {
  requireLabel(label ?? '')
  return {
    ...(label !== undefined && { label }),
    ...(quota !== undefined && { quotaBytes: parseBytes(quota) }),
    ...(accounts !== undefined && {
      maxAccounts: wholeNumber(accounts, 'number of accounts', { most: 999_999_999 })
    })
  }
}

/**
 * @param {Command} command
 * @returns {Command}
 */
function withLimits(command) {
  return command
    .option('--label <text>', 'what operators call it')
    .option('--quota <size>', 'of all its accounts together, for instance 500GB; 0 means no limit')
    .option('--accounts <number>', 'how many accounts it may have; 0 means no limit')
}

/**
 * @param {Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  const group = program
    .command('tenant')
    .description(
      'Whose domains and accounts are; a domain has a tenant of its own name until it is given to another'
    )
  group
    .command('list')
    .description('List the tenants')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', '\nExample:\n  letterlock tenant list')
    .action((/** @type {CommonOptions & { json?: boolean }} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        for (const tenant of await services.directory.listTenants()) {
          if (options.json) print(JSON.stringify(tenant))
          else {
            const { id, accounts, usedBytes, quotaBytes, domains } = tenant
            const limit = quotaBytes === 0 ? '' : ` of ${formatBytes(quotaBytes)}`
            print(
              `${id}\t${counted(accounts, 'account')}, ${formatBytes(usedBytes)}${limit}\t${domains.join(', ')}`
            )
          }
        }
      })
    )

  withLimits(group.command('create').argument('<tenant>', 'lower case, for instance acme'))
    .description('Make a tenant')
    .addHelpText('after', '\nExample:\n  letterlock tenant create acme --quota 500GB')
    .action((/** @type {string} */ id, /** @type {SetOptions} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        if (!TENANT_ID.test(id))
          throw new CliError(`${id} is no name for a tenant`, { exitCode: 2 })
        const limits = { label: '', quotaBytes: 0, maxAccounts: 0, ...changeOf(options) }
        await services.directory.createTenant({ id, ...limits })
        services.directory.audit({ action: 'tenant-create', tenant: id })
        print(`created ${id}`)
      })
    )

  withLimits(group.command('set').argument('<tenant>'))
    .description('Change label and limits')
    .addHelpText('after', '\nExample:\n  letterlock tenant set acme --accounts 200')
    .action((/** @type {string} */ id, /** @type {SetOptions} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        const change = changeOf(options)
        if (Object.keys(change).length === 0)
          throw new CliError('Nothing to change was named', { exitCode: 2 })
        await services.directory.updateTenant(id, change)
        services.directory.audit({ action: 'tenant-set', tenant: id, detail: change })
        print(`changed ${id}`)
      })
    )

  group
    .command('assign')
    .argument('<tenant>')
    .argument('<domain>')
    .description('Give a domain to a tenant, with the accounts in it')
    .addHelpText('after', '\nExample:\n  letterlock tenant assign acme example.org')
    .action(
      (
        /** @type {string} */ id,
        /** @type {string} */ name,
        /** @type {CommonOptions} */ options
      ) =>
        withAccounts(context, options, async ({ services, print }) => {
          const domain = parseDomain(name)
          await services.directory.assignDomain(domain, id)
          services.directory.audit({ action: 'domain-assign', tenant: id, detail: { domain } })
          print(`${domain} belongs to ${id}`)
        })
    )

  group
    .command('delete')
    .argument('<tenant>')
    .description('Remove a tenant that has neither domains nor accounts; its tokens go with it')
    .addHelpText('after', '\nExample:\n  letterlock tenant delete acme')
    .action((/** @type {string} */ id, /** @type {CommonOptions} */ options) =>
      withAccounts(context, options, async ({ services, print }) => {
        await services.directory.deleteTenant(id).catch((error) => {
          if (!(error instanceof MailError)) throw error
          throw new CliError(error.message)
        })
        services.directory.audit({ action: 'tenant-delete', detail: { tenant: id } })
        print(`deleted ${id}`)
      })
    )
}
