/**
 * `letterlock backup take-over`: the host that was restored makes the backups from now on.
 */
import { takeOverBackups } from '../backup/take-over.js'
import { PasswordInput } from './password-input.js'
import { withBackups } from './with-backups.js'

/**
 * @typedef {import('./index.js').CommonOptions & { yes?: boolean }} TakeOverOptions
 */

/**
 * @param {import('commander').Command} backup
 * @param {import('./index.js').CliContext} context
 */
export function registerTakeOver(backup, context) {
  backup
    .command('take-over')
    .description('Make the backups here from now on, and no longer on the host that was restored')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nAfter `backup restore --host`, where the first host is gone for good.\n\nExample:\n  letterlock backup take-over'
    )
    .action((/** @type {TakeOverOptions} */ options) =>
      withBackups(context, options, async ({ config, repository, print }) => {
        const { label } = repository.target
        if (options.yes !== true) await confirm(context, label)
        const isNew = await takeOverBackups({ data: config.data, repository })
        print(`the backups in ${label} are made here${isNew ? ' from now on' : ' already'}`)
      })
    )
}

/**
 * @param {import('./index.js').CliContext} context
 * @param {string} label - of the target
 */
async function confirm({ stdin, stderr }, label) {
  const input = new PasswordInput({ stdin, stderr, isStdin: false })
  try {
    await input.confirm(
      `The backups in ${label} are made here from now on, and the host that made them makes none there any more. Type “take over”`,
      'take over'
    )
  } finally {
    await input.close()
  }
}
