/**
 * `letterlock audit export`: the audit log as JSON lines, oldest first.
 */
import { once } from 'node:events'
import { AUDIT_ACTIONS, isAuditAction } from '../../accounts/audit-actions.js'
import { CliError } from '../cli-error.js'
import { wholeNumber } from '../whole-number.js'
import { parseTime, withAccounts } from '../with-accounts.js'

/**
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {CommonOptions & { since?: string, until?: string, action?: string, tenant?: string, afterId?: string }} ExportOptions
 */

const PAGE_ROWS = 1000

/**
 * @param {import('commander').Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  program
    .command('audit')
    .description('Who logged in, was refused, changed a password or an account, and when')
    .command('export')
    .description('Write the audit log to standard output, one JSON object a line, oldest first')
    .option(
      '--since <time>',
      'from this time on, for instance 2026-11-20 or 2026-11-20T18:00+01:00'
    )
    .option('--until <time>', 'before this time')
    .option('--after-id <id>', 'what came after the event of this id: how a collector goes on')
    .option('--action <name>', 'for instance login-failed')
    .option('--tenant <tenant>', 'of this tenant alone')
    .addHelpText(
      'after',
      '\nTimes are UTC unless they name a zone; a bare day is its beginning.\n\nExamples:\n  letterlock audit export --since 2026-11-01 > audit.jsonl\n  letterlock audit export --since 2026-11-20 --until 2026-11-21'
    )
    .action((/** @type {ExportOptions} */ options) =>
      withAccounts(context, options, async ({ services }) => {
        const { stdout } = context
        if (options.tenant !== undefined) await requireTenant(services, options.tenant)
        const filter = {
          ...(options.since !== undefined && { sinceMs: parseTime(options.since) }),
          ...(options.until !== undefined && { untilMs: parseTime(options.until) }),
          ...(options.action !== undefined && { action: parseAction(options.action) }),
          ...(options.tenant !== undefined && { tenant: options.tenant })
        }
        for (let afterId = parseId(options.afterId); ;) {
          const rows = await services.directory.pageAudit({
            ...filter,
            afterId,
            limit: PAGE_ROWS,
            isOldestFirst: true
          })
          for (const { atMs, ...row } of rows) {
            const line = JSON.stringify({ at: new Date(atMs).toISOString(), ...row })
            // Nobody reads any longer: index.js says what went wrong, if anything did.
            if (stdout.destroyed) return
            if (!stdout.write(`${line}\n`)) await once(stdout, 'drain').catch(() => {})
          }
          const last = rows.at(-1)
          if (!last || rows.length < PAGE_ROWS) break
          afterId = last.id
        }
      })
    )
}

/**
 * @param {string | undefined} text
 * @returns {number} 0 where none is given
 * @throws {CliError}
 */
function parseId(text) {
  return text === undefined ? 0 : wholeNumber(text, 'id of an event')
}

/**
 * Refuses a mistyped tenant, which would look like one without events. A deleted one is accepted: it is still in the log.
 *
 * @param {import('../../accounts/services.js').AccountServices} services
 * @param {string} tenant
 * @throws {CliError}
 */
async function requireTenant({ directory }, tenant) {
  if (await directory.hasTenant(tenant)) return
  if ((await directory.pageAudit({ tenant, limit: 1 })).length > 0) return
  throw new CliError(`there is no tenant “${tenant}”, nor does the audit log tell of one`, {
    exitCode: 2
  })
}

/**
 * @param {string} text
 * @returns {import('../../accounts/audit-actions.js').AuditAction}
 * @throws {CliError}
 */
function parseAction(text) {
  if (isAuditAction(text)) return text
  const known = AUDIT_ACTIONS.join(', ')
  throw new CliError(`“${text}” is no action of the audit log: ${known}`, { exitCode: 2 })
}
