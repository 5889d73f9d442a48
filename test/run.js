/**
 * Runs the tests under the Node that this project pins: `npm test`, or `npm test -- test/unit/mime` for a part.
 * `--torture` runs the long rounds (hundreds instead of ten) of the crash and load tests. `--workers=N` runs the protocol
 * tests against N workers in processes of their own, without those that look inside of a server.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** What only a server in the test's own process has. */
const INSIDE = /\b(server\.(imap|openAccounts|logged|unexpected)|startSibling|clock|hasTls)\b/

const args = process.argv.slice(2)
const torture = args.includes('--torture')
const workers = args.find((arg) => arg.startsWith('--workers='))?.split('=')[1]
const wanted = args.filter((arg) => !arg.startsWith('--'))
const options = args.filter(
  (arg) => arg.startsWith('--') && arg !== '--torture' && !arg.startsWith('--workers=')
)
const roots = wanted.length > 0 ? wanted : [workers ? 'test/protocol' : 'test']
const files = roots
  .flatMap((root) => (statSync(root).isDirectory() ? globSync(`${root}/**/*.test.js`) : [root]))
  .filter((file) => !workers || !INSIDE.test(readFileSync(file, 'utf8')))
  .sort()

// Each file is a process, and many start servers and commands of their own: a tenth of the time would go into compiling
// the same modules again. Coverage is not exact for functions that come out of this cache.
const compiled = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url))
// They wait for the disk and for clients too: two processes more than cores leave none of them idle.
const concurrency = Math.min(availableParallelism(), 8) + 2

// No package of ours is a link, and to look whether one is takes a sixth of the time in which a process loads its modules.
const nodeOptions = `${process.env['NODE_OPTIONS'] ?? ''} --preserve-symlinks`.trim()

const reporters = options.some((option) => option.startsWith('--test-reporter'))
  ? []
  : [
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...['--test-reporter=./test/still-running.js', '--test-reporter-destination=stderr']
    ]

const result = spawnSync(
  process.execPath,
  [
    ...['--disable-sigusr1', '--test', `--test-concurrency=${concurrency}`],
    ...reporters,
    ...options,
    ...files
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      ...(!process.env['NODE_V8_COVERAGE'] && { NODE_COMPILE_CACHE: compiled }),
      NODE_OPTIONS: nodeOptions,
      ...(workers && { LETTERLOCK_TEST_WORKERS: workers }),
      ...(torture && { LETTERLOCK_TEST_TORTURE: '1' })
    }
  }
)
process.exit(result.status ?? 1)
