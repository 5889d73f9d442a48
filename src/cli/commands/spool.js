/**
 * `letterlock spool`: sealed mail that waits, and mail that was set aside because it did not open.
 */
import { join } from 'node:path'
import { connectOwners } from '../../backup/owner-client.js'
import { listAsideFiles, listSpool, retryAsideFile } from '../../delivery/spool.js'
import { formatBytes } from '../../support/format.js'
import { CliError } from '../cli-error.js'
import { explainRefusedFile } from '../file-refused.js'
import { formatTime, requireAccount, withAccounts } from '../with-accounts.js'

/** Exit code: the spools of some accounts could not be read. */
const INCOMPLETE = 1

/**
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 */

/**
 * @param {import('commander').Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  const group = program
    .command('spool')
    .description('Sealed mail that waits for its owner, and mail that was set aside')
  group
    .command('list')
    .argument('[address]', 'whose; none: every account that has any')
    .description('List what waits and what was set aside; needs no password')
    .addHelpText('after', '\nExample:\n  letterlock spool list ann@example.org')
    .action((/** @type {string | undefined} */ address, /** @type {CommonOptions} */ options) =>
      withAccounts(context, options, async ({ services, print, tell }) => {
        const accounts = address
          ? [await requireAccount(services, address)]
          : await services.directory.listAccounts()
        for (const account of accounts) {
          try {
            await list(account, print)
          } catch (error) {
            const refusal = explainRefusedFile(error)
            if (refusal === null) throw error
            // Goes on: the mail of all others is asked for, too.
            tell(refusal)
            process.exitCode = INCOMPLETE
          }
        }
      })
    )
  group
    .command('retry')
    .argument('<address>', 'whose')
    .argument('[files...]', 'names as `spool list` shows them; none: all that was set aside')
    .description(
      'Put mail that was set aside back, to be tried again at once where the mailbox is open, else at the next login'
    )
    .addHelpText('after', '\nExample:\n  letterlock spool retry ann@example.org')
    .action(
      (
        /** @type {string} */ address,
        /** @type {string[]} */ files,
        /** @type {CommonOptions} */ options
      ) =>
        withAccounts(context, options, async ({ services, print }) => {
          const account = await requireAccount(services, address)
          const { config, clock } = services
          const count = await retry(spoolOf(account), files, clock.nowMs())
          services.directory.audit({
            action: 'spool-retry',
            accountId: account.id,
            detail: { files: count }
          })
          print(`${count} put back`)
          await ringOwners(join(config.data, 'run'), account.id)
        })
    )
}

/** @param {{ folder: string }} account */
const spoolOf = ({ folder }) => join(folder, 'spool')

/**
 * @param {import('../../accounts/directory-port.js').Account} account
 * @param {(line: string) => void} print
 */
async function list(account, print) {
  const states = /** @type {const} */ ([
    ['waits', await listSpool(spoolOf(account))],
    ['aside', await listAsideFiles(spoolOf(account))]
  ])
  for (const [state, files] of states)
    for (const { name, bytes, changedAtMs } of files) {
      const time = formatTime(changedAtMs)
      print([account.address, state, name, formatBytes(bytes), time].join('\t'))
    }
}

/**
 * @param {string} spoolFolder
 * @param {string[]} names - none: all
 * @param {number} nowMs
 * @returns {Promise<number>} files that are back in the spool
 */
async function retry(spoolFolder, names, nowMs) {
  const known = new Set((await listAsideFiles(spoolFolder)).map(({ name }) => name))
  for (const name of names)
    if (!known.has(name)) throw new CliError(`No file of that name was set aside: ${name}`)
  const wanted = new Set(names.length > 0 ? names : known)
  for (const name of wanted) await retryAsideFile(spoolFolder, name, nowMs)
  return wanted.size
}

/**
 * Tells the process that has the mailbox open, which otherwise looks into its spool only at the next delivery.
 *
 * @param {string} runFolder
 * @param {string} accountId
 */
async function ringOwners(runFolder, accountId) {
  const owners = await connectOwners(runFolder)
  try {
    for (const owner of owners) await owner.ask({ op: 'ring', accountId })
  } finally {
    for (const owner of owners) owner.close()
  }
}
