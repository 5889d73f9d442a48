/**
 * `npm run cluster`, `cluster:reload`, `cluster:stop`: the project's own PM2 under the Node that runs this script, with a
 * daemon of its own. A daemon that somebody else's PM2 has started would run the workers on its Node, without the
 * allocator's settings, which a process reads when it begins.
 *
 * Everything else that PM2 can do: `npm run cluster -- <command>`, for instance `npm run cluster -- logs`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../config/load.js'
import { clusterEnvironment } from '../config/runtime.js'
import { MailError } from '../src/errors.js'
import { checkStart } from './cluster/check.js'

const ECOSYSTEM = fileURLToPath(new URL('../ecosystem.config.js', import.meta.url))

/** @type {Record<string, string[][]>} */
const COMMANDS = {
  start: [['start', ECOSYSTEM]],
  reload: [['reload', ECOSYSTEM, '--update-env']],
  // The daemon goes too: after an upgrade the next start has the new Node.
  stop: [['stop', ECOSYSTEM], ['kill']]
}

/** What PM2 calls a worker that is not there yet; one that fails again and again is not waited for longer than a minute. */
const STARTING = new Set(['launching', 'waiting restart'])
const LOOK_MS = 500
const START_TRIES = 60

/** Of PM2's list, which has the whole environment of each process. */
const LIST_BYTES = 64 * 1024 * 1024

const [command = 'start', ...rest] = process.argv.slice(2).filter((_, at, all) => {
  // `npm run cluster -- logs` gives `start logs`.
  return !(at === 0 && all.length > 1 && all[0] === 'start')
})
/** @type {import('../config/load.js').Config} */
let config
try {
  config = loadConfig()
  // PM2 ends old workers whether new ones can begin or not: what would stop them is looked for before.
  if (command === 'start' || command === 'reload') await checkStart(config)
} catch (error) {
  if (!(error instanceof MailError)) throw error
  process.stderr.write(`letterlock: ${error.message}\n${error.detail ?? error.code}\n`)
  process.exit(1)
}
const environment = clusterEnvironment(config.data)
mkdirSync(environment.PM2_HOME, { recursive: true, mode: 0o700 })
process.umask(0o077)

const pm2 = createRequire(import.meta.url).resolve('pm2/bin/pm2')
if (command === 'reload') await untilStarted()
for (const args of COMMANDS[command] ?? [[command]]) {
  const { status } = spawnSync(process.execPath, [pm2, ...args, ...rest], {
    stdio: 'inherit',
    env: environment
  })
  if (status !== 0) process.exit(status ?? 1)
}
if (command === 'start' || command === 'reload') {
  await untilStarted()
  const failed = listed().filter(({ pm2_env: { status } }) => status !== 'online')
  for (const name of new Set(failed.map((app) => app.name)))
    process.stderr.write(
      `letterlock: ${name} does not start: see ${environment.PM2_HOME}/logs/${name}-error.log\n`
    )
  if (failed.length > 0) process.exit(1)
}

/** @returns {{ name: string, pm2_env: { status: string } }[]} the processes that PM2 looks after */
function listed() {
  const { stdout } = spawnSync(process.execPath, [pm2, 'jlist'], {
    encoding: 'utf8',
    env: environment,
    maxBuffer: LIST_BYTES
  })
  // PM2 may greet before the list.
  return JSON.parse(/^\[.*\]$/m.exec(stdout)?.[0] ?? '[]')
}

/**
 * A worker that PM2 is just starting again when it is told to reload it starts twice, and knows one of the two: the other one
 * would serve, with the old program after an upgrade, until the cluster stops.
 */
async function untilStarted() {
  for (let tries = 0; tries < START_TRIES; tries++) {
    if (!listed().some(({ pm2_env: { status } }) => STARTING.has(status))) return
    await sleep(LOOK_MS)
  }
}
