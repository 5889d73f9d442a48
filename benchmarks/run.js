/**
 * `npm run benchmark`: the whole suite, or the parts that are named. See README.md in this folder.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { loadAverage, readEnvironment } from './lib/environment.js'
import { NODE_VERSIONS, installNode, nodeVersion } from './lib/other-node.js'
import { Progress } from './lib/progress.js'
import { reportFolder, writeReport } from './lib/report.js'
import { runQuestion } from './lib/run-question.js'
import { SlowDiskRefused } from './lib/slow-disk.js'
import { PARTS } from './parts.js'

/**
 * @typedef {import('./lib/question.js').Part} Part
 * @typedef {import('./lib/question.js').RunOptions} RunOptions
 *
 * @typedef {object} CommandOptions
 * @property {boolean} [quick]
 * @property {number} [messages]
 * @property {number} [users]
 * @property {number} [rounds]
 * @property {number} seed
 * @property {string[]} [only]
 * @property {string[]} [contenders]
 * @property {string} [node]
 * @property {boolean} dovecot
 * @property {boolean} [dovecotCrypt]
 * @property {boolean} [aegis]
 * @property {string} scratch
 * @property {string} [output]
 */

/** What ends a run early, and still leaves nothing behind. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/** @param {string} text */
function positiveInteger(text) {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new Error(`${text} is no positive number`)
}

const program = new Command('benchmark')
  .argument('[parts...]', `${PARTS.map(({ id }) => id).join(', ')}; none: all of them`)
  .option('--quick', 'small figures and one round, to see that everything works')
  .option('--messages <n>', 'in the large mailbox (default 100000, quick 600)', positiveInteger)
  .option('--users <n>', 'accounts for the imap part (default 540, quick 12)', positiveInteger)
  .option('--rounds <n>', 'default 5, quick 1', positiveInteger)
  .option('--seed <n>', 'of the generated mail', positiveInteger, 42)
  .option('--only <question...>', 'only these questions of the part')
  .option('--contenders <id...>', 'only these contenders, by their ids in the JSON')
  .addOption(
    new Option(
      '--node <version>',
      `run the sqlite part under another Node: ${Object.entries(NODE_VERSIONS)
        .map(([major, version]) => `${major} is ${version}`)
        .join(', ')}, or an exact version`
    )
  )
  .option('--dovecot-crypt', 'measure Dovecot with mail_crypt and zstd as well')
  .option('--aegis', 'measure Letterlock with storage.cipher aegis-256 as well')
  .option('--no-dovecot', 'do not measure Dovecot, even where it is installed')
  .option('--scratch <folder>', 'where the contenders write', tmpdir())
  .option(
    '--output <folder>',
    'where the report goes (default benchmarks/results, quick results-quick)'
  )
  .addHelpText('after', '\nExample:\n  npm run benchmark -- sqlite --quick')

/**
 * @param {readonly string[]} words - as they were typed
 * @returns {string[]} without the folders, which are of this machine alone and change no figure
 */
const withoutFolders = (words) =>
  words.filter(
    (word, index) => !isFolderOption(word) && !/^--(output|scratch)$/.test(words[index - 1] ?? '')
  )

/** @param {string} word */
const isFolderOption = (word) => /^--(output|scratch)(=|$)/.test(word)

/**
 * @param {Part} part
 * @param {CommandOptions} options
 * @param {Progress} progress
 */
async function runPart(part, options, progress) {
  const { quick: isQuick = false, seed, dovecot, only, node } = options
  if (node !== undefined && !part.canChangeNode)
    throw new Error(`${part.id} runs under the pinned Node alone`)
  /** @type {RunOptions} */
  const run = {
    isQuick,
    messages: options.messages ?? (isQuick ? 600 : 100_000),
    users: options.users ?? (isQuick ? 12 : 540),
    rounds: options.rounds ?? (isQuick ? 1 : 5),
    seed,
    withDovecot: dovecot,
    withDovecotCrypt: options.dovecotCrypt ?? false,
    withAegis: options.aegis ?? false
  }
  const wanted = part.questions.filter(
    ({ pathname }) => !only || only.some((name) => pathname.endsWith(`/${name}.bench.js`))
  )
  if (wanted.length === 0) throw new Error(`${part.id} has no question ${only?.join(', ')}`)
  mkdirSync(options.scratch, { recursive: true })
  const scratch = mkdtempSync(join(options.scratch, 'letterlock-benchmark-'))
  /** @type {import('./lib/question.js').PartSetup | undefined} */
  let setup
  const clearUp = async () => {
    await setup?.tearDown()
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
  }
  // A contender ends when it has lost us.
  const onSignal = () => clearUp().finally(() => process.exit(1))
  for (const signal of SIGNALS) process.once(signal, onSignal)
  try {
    const execPath = node === undefined ? process.execPath : installNode(node, scratch)
    const environment = readEnvironment(execPath, scratch)
    setup = await part.setUp?.(run, scratch, (text) => progress.tell(`${part.id}: ${text}`))
    const context = setup?.context ?? {}
    /** @type {import('./lib/report.js').PartResult['questions']} */
    const questions = []
    /** @type {Record<string, string>} */
    const leftOut = {}
    const report = (/** @type {Record<string, string>} */ more) =>
      writeReport(
        {
          part: node === undefined ? part.id : `${part.id}-node-${nodeVersion(node)}`,
          title: part.title,
          command: ['npm run benchmark --', ...withoutFolders(process.argv.slice(2))].join(' '),
          options: run,
          environment: { ...environment, ...setup?.environment, ...leftOut, ...more },
          questions
        },
        options.output ?? reportFolder(isQuick)
      )
    for (const [index, url] of wanted.entries()) {
      const folder = join(scratch, 'question')
      const restart = setup?.restart
      const asking = { url, options: run, folder, context, execPath, progress, restart }
      try {
        questions.push(await runQuestion({ ...asking, only: options.contenders ?? null }))
      } catch (error) {
        if (!(error instanceof SlowDiskRefused)) throw error
        const name = url.pathname.replace(/.*\/(.*)\.bench\.js$/, '$1')
        leftOut[`not asked: ${name}`] = error.message
        progress.tell(`${part.id}: ${name} is left out: ${error.message}`)
      }
      // Of a run of hours that is broken off, what has been measured stays.
      const asked = `${index + 1} of ${wanted.length} questions`
      if (index + 1 < wanted.length) await report({ 'broken off': `after ${asked}` })
    }
    console.log(await report({ 'load average at end': loadAverage() }))
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    await clearUp()
  }
}

async function main() {
  program.parse()
  const options = /** @type {CommandOptions} */ (program.opts())
  const unknown = program.args.filter((name) => !PARTS.some(({ id }) => id === name))
  if (unknown.length > 0) program.error(`unknown part: ${unknown.join(', ')}`)
  const wanted = PARTS.filter(({ id, canChangeNode }) =>
    program.args.length > 0 ? program.args.includes(id) : !options.node || canChangeNode
  )
  const progress = new Progress(process.stderr)
  for (const part of wanted) await runPart(part, options, progress)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
