/**
 * The command line: registers every command, gives each leaf the options that all share, and turns what
 * was thrown into one clear line and an exit code.
 */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { loadConfig } from '../../config/load.js'
import { MailError } from '../errors.js'
import { systemClock } from '../support/clock.js'
import { CliError } from './cli-error.js'
import * as account from './commands/account.js'
import * as appPassword from './commands/app-password.js'
import * as audit from './commands/audit.js'
import * as backup from './commands/backup.js'
import * as check from './commands/check.js'
import * as doctor from './commands/doctor.js'
import * as exportMail from './commands/export.js'
import * as importMail from './commands/import.js'
import * as maintain from './commands/maintain.js'
import * as repair from './commands/repair.js'
import * as openFile from './commands/open.js'
import * as serve from './commands/serve.js'
import * as spool from './commands/spool.js'
import * as tenant from './commands/tenant.js'
import * as token from './commands/token.js'

const COMMANDS = [
  serve,
  account,
  appPassword,
  importMail,
  exportMail,
  openFile,
  check,
  backup,
  repair,
  maintain,
  spool,
  tenant,
  token,
  audit,
  doctor
]

/**
 * @typedef {object} CommonOptions
 * @property {string} [data]
 * @property {string} [config]
 * @property {string} [defaultDomain]
 *
 * @typedef {object} CliContext
 * @property {(options: CommonOptions, settings?: Record<string, unknown>) => import('../../config/load.js').Config} loadConfig
 * @property {import('../support/clock.js').Clock} clock
 * @property {NodeJS.ReadStream} stdin
 * @property {NodeJS.WriteStream} stdout
 * @property {NodeJS.WriteStream} stderr
 * @property {string} version
 * @property {(options: import('../compose.js').StartOptions) => Promise<import('../compose.js').RunningServer>} startServer -
 *   handed in by the entry, because composing the server is the one thing that is above this layer
 */

/** @returns {string} */
export function programVersion() {
  const file = new URL('../../package.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).version
}

/**
 * @param {Command} command
 * @returns {Command[]} the commands that do something, mere groups left out
 */
function leaves(command) {
  const isMereGroup = command.commands.length > 0 && command.registeredArguments.length === 0
  return [...(isMereGroup ? [] : [command]), ...command.commands.flatMap(leaves)]
}

/**
 * @param {CliContext} context
 * @returns {Command}
 */
export function createProgram(context) {
  const program = new Command('letterlock')
    .description('Encrypted IMAP mail store: one file per user that only the user’s password opens')
    .version(context.version)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for how to use it)')
    // An option behind a command is that command's, also where the group above it has one of that name.
    .enablePositionalOptions()
  for (const { register } of COMMANDS) register(program, context)

  for (const leaf of leaves(program)) {
    const known = new Set(leaf.options.map(({ long }) => long))
    const add = (/** @type {string} */ flags, /** @type {string} */ text) => {
      if (!known.has(flags.split(' ')[0])) leaf.option(flags, text)
    }
    add('--data <folder>', 'the data folder (default: data, or LETTERLOCK_DATA)')
    add('--config <file>', 'a JSON file of settings (or LETTERLOCK_CONFIG)')
    add('--default-domain <domain>', 'the domain of names that have none')
  }
  return program
}

/**
 * @param {unknown} error
 * @param {NodeJS.WritableStream} stderr
 * @returns {number} the exit code
 */
function report(error, stderr) {
  if (error instanceof CommanderError) return error.exitCode
  if (error instanceof CliError) {
    stderr.write(`letterlock: ${error.message}\n`)
    return error.exitCode
  }
  if (error instanceof MailError) {
    const { detail } = error
    stderr.write(`letterlock: ${error.message}\n`)
    if (detail !== undefined) stderr.write(`${detail.replace(/^/gm, '  ')}\n`)
    return 1
  }
  stderr.write(
    `letterlock: unexpected error\n${error instanceof Error ? error.stack : String(error)}\n`
  )
  return 1
}

/**
 * @param {string[]} argv - as process.argv
 * @param {Pick<CliContext, 'startServer'>} parts
 * @returns {Promise<number>} the exit code
 */
export async function runCommandLine(argv, { startServer }) {
  const { stdin, stdout, stderr } = process
  /** @type {CliContext} */
  const context = {
    clock: systemClock,
    stdin,
    stdout,
    stderr,
    version: programVersion(),
    startServer,
    loadConfig: ({ data, config, defaultDomain }, settings = {}) =>
      loadConfig({
        file: config,
        settings: {
          ...(data !== undefined && { data }),
          ...(defaultDomain !== undefined && { defaultDomain }),
          ...settings
        }
      })
  }
  const program = createProgram(context)
  const everyCommand = (/** @type {Command} */ command) => {
    command.exitOverride()
    command.commands.forEach(everyCommand)
  }
  everyCommand(program)
  process.exitCode = 0
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode)
  } catch (error) {
    return report(error, stderr)
  }
}
