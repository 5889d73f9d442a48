/**
 * Runs the tests under the Node that this project pins: `npm test`, or `npm test -- test/unit/mime` for a part.
 * `--torture` runs the long rounds (hundreds instead of ten) of the crash and load tests.
 */
import { spawnSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'

const args = process.argv.slice(2)
const torture = args.includes('--torture')
const wanted = args.filter((arg) => !arg.startsWith('--'))
const options = args.filter((arg) => arg.startsWith('--') && arg !== '--torture')
const roots = wanted.length > 0 ? wanted : ['test']
const files = roots
  .flatMap((root) => (statSync(root).isDirectory() ? globSync(`${root}/**/*.test.js`) : [root]))
  .sort()

const result = spawnSync(
  process.execPath,
  ['--disable-sigusr1', '--test', '--test-concurrency=2', ...options, ...files],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      ...(torture && { LETTERLOCK_TEST_TORTURE: '1' })
    }
  }
)
process.exit(result.status ?? 1)
