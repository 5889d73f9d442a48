/**
 * The command line: registers every command and gives each leaf the options that all share.
 */
import { Command } from 'commander'
import { isFirstUnderPm2, loadConfig } from '../../config/load.js'
import { NOT_STARTED } from '../../config/runtime.js'
import { systemClock } from '../support/clock.js'
import { programVersion } from '../support/program-version.js'
import { Outputs } from './outputs.js'
import { report } from './report.js'

/** Options that are answered without any command. */
const VERSION = ['-V', '--version']

/** Commands whose exit code 1 means that something was found, or failed in part: where nothing was done, they end with 2. */
const TELLING = new Set(['import', 'export', 'check', 'backup', 'repair'])
const NOTHING_DONE = 2

/** Exit code where output could not be written: it may have been a password that is shown once. */
const OUTPUT_LOST = 1

/**
 * All commands, in the order of the help. Only the one that is asked for is loaded, with its libraries: a worker that takes
 * the place of another begins in half the time.
 *
 * @type {Record<string, () => Promise<{ register: (program: Command, context: any) => void }>>}
 */
const COMMANDS = {
  serve: () => import('./commands/serve.js'),
  account: () => import('./commands/account.js'),
  'app-password': () => import('./commands/app-password.js'),
  import: () => import('./commands/import.js'),
  export: () => import('./commands/export.js'),
  open: () => import('./commands/open.js'),
  check: () => import('./commands/check.js'),
  backup: () => import('./commands/backup.js'),
  repair: () => import('./commands/repair.js'),
  maintain: () => import('./commands/maintain.js'),
  spool: () => import('./commands/spool.js'),
  tenant: () => import('./commands/tenant.js'),
  token: () => import('./commands/token.js'),
  audit: () => import('./commands/audit.js'),
  doctor: () => import('./commands/doctor.js')
}

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

/**
 * @param {Command} command
 * @returns {Command[]} the commands that do something, mere groups left out
 */
function leaves(command) {
  const isMereGroup = command.commands.length > 0 && command.registeredArguments.length === 0
  return [...(isMereGroup ? [] : [command]), ...command.commands.flatMap(leaves)]
}

/**
 * @param {string} wanted - the first argument
 * @returns {(typeof COMMANDS)[string][]}
 */
function loadersOf(wanted) {
  const only = Object.hasOwn(COMMANDS, wanted) ? COMMANDS[wanted] : undefined
  if (only !== undefined) return [only]
  return VERSION.includes(wanted) ? [] : Object.values(COMMANDS)
}

/**
 * @param {CliContext} context
 * @param {string | undefined} wanted - the first argument
 * @returns {Promise<Command>} with that command alone, or with all where it names none
 */
async function createProgram(context, wanted = '') {
  const program = new Command('letterlock')
    .description('Encrypted IMAP mail store: one file per user that only the user’s password opens')
    .version(context.version)
    .showHelpAfterError('(add --help for how to use it)')
    // An option behind a command belongs to that command, also where the group above it has one of that name.
    .enablePositionalOptions()
  for (const { register } of await Promise.all(loadersOf(wanted).map((load) => load()))) {
    register(program, context)
  }

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
 * @param {string[]} argv - as process.argv
 * @param {Pick<CliContext, 'startServer'>} parts
 * @returns {Promise<number>} the exit code, when all is written
 */
export async function runCommandLine(argv, parts) {
  const outputs = new Outputs([process.stdout, process.stderr])
  const exitCode = await runCommand(argv, parts)
  const failure = await outputs.flushed()
  if (failure === null) return exitCode
  process.stderr.write(`letterlock: the output cannot be written (${failure.code})\n`)
  return exitCode === 0 ? OUTPUT_LOST : exitCode
}

/**
 * @param {string[]} argv
 * @param {Pick<CliContext, 'startServer'>} parts
 * @returns {Promise<number>} the exit code
 */
async function runCommand(argv, { startServer }) {
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
  const program = await createProgram(context, argv[2])
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
    const exitCode = report(error, stderr, TELLING.has(argv[2] ?? '') ? NOTHING_DONE : undefined)
    return argv[2] === 'serve' && isFirstUnderPm2() ? NOT_STARTED : exitCode
  }
}
