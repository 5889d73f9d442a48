/**
 * Starts the workers and the nightly backup, or replaces those that run.
 *
 * PM2's own reload ends an old worker after a minute whether the new one is ready or not. Here a new one is started beside
 * the old one, which is told to go when the new one is ready: where new ones cannot start, the old ones stay.
 */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../../src/cli/cli-error.js'
import { lockAlone } from '../../src/database/lock.js'
import { isMailError } from '../../src/errors.js'
import { checkStart } from './check.js'
import { ECOSYSTEM } from './pm2.js'

/** @typedef {import('./pm2.js').ListedProcess} ListedProcess */
/** @typedef {typeof import('../../ecosystem.config.js')} Ecosystem */

/**
 * @typedef {object} Parts
 * @property {import('./pm2.js').Pm2} pm2
 * @property {Ecosystem} ecosystem
 * @property {(line: string) => void} tell
 */

/** States of processes that PM2 does not start again. */
const ENDED = new Set(['stopped', 'errored'])

/** A process that is being started is waited for, looked at so often, ms, and at most so many times: half a minute. */
const LOOK_MS = 500
const START_TRIES = 60

/**
 * @param {Omit<Parts, 'ecosystem'> & { config: import('../../config/load.js').Config }} options
 * @throws {import('../../src/errors.js').MailError} where a server would not start: nothing was begun
 * @throws {CliError} where a new process is not ready: the old one goes on; after a first start nothing is left running
 */
export async function bringUp({ config, pm2, tell }) {
  await checkStart(config)
  const lock = await lockAlone(pm2.home, 'cluster.lock').catch((error) => {
    if (!isMailError(error, 'BUSY')) throw error
    throw new CliError('Another start or reload has not ended yet', { cause: error })
  })
  try {
    pm2.startDaemon()
    requireNode({ pm2, tell })
    // Loaded only now, as it reads the settings then: `checkStart` has found them right.
    const ecosystem = await import('../../ecosystem.config.js')
    const parts = { pm2, ecosystem, tell }
    const old = find(pm2, ecosystem.workers)
    // With these in its list, PM2 would start all of that name anew, those that run too, instead of one more.
    const ended = old.filter(({ pm2_env: { status } }) => ENDED.has(status))
    await end(pm2, ended)
    if (ended.length < old.length) await replaceWorkers(parts)
    else await startWorkers(parts)
    await renewBackup(parts)
  } finally {
    lock.release()
  }
}

/**
 * Looks at the daemon's Node, which after an upgrade may be of another version, in another folder.
 *
 * @param {Omit<Parts, 'ecosystem'>} parts
 * @throws {CliError} where that folder has gone: a worker could not be started, and PM2 would wait for it for ever
 */
function requireNode({ pm2: { node }, tell }) {
  if (!existsSync(node)) {
    throw new CliError(
      `PM2’s daemon runs on ${node}, which is gone, and can start no worker: npm run cluster:stop, then npm run cluster`
    )
  }
  if (node !== process.execPath) {
    tell(`PM2’s daemon, and so each worker, runs on ${node} until the next stop: keep that`)
  }
}

/** @param {Parts} parts */
async function startWorkers({ pm2, ecosystem: { workers }, tell }) {
  pm2.run(['start', ECOSYSTEM, '--only', workers.name])
  const started = find(pm2, workers)
  if (started.length !== workers.instances || !started.every(isUp)) {
    await end(pm2, started)
    // Otherwise the daemon stays: the nightly backup of an earlier start may be at work.
    if (pm2.list().length === 0) pm2.run(['kill'])
    throw new CliError(`The workers do not start: see ${pm2.logOf(workers.name)}`)
  }
  tell('all workers are ready')
}

/** @param {Parts} parts */
async function replaceWorkers(parts) {
  const { pm2, tell } = parts
  const { workers } = parts.ecosystem
  const old = find(pm2, workers)
  for (let slot = 0; slot < workers.instances; slot++) {
    await startBeside(parts, slot)
    tell(`worker ${slot}: the new one is ready`)
    const replaced = old.filter((worker) => slotOf(worker) === slot)
    await end(pm2, replaced)
  }
  const left = old.filter((worker) => slotOf(worker) >= workers.instances)
  await end(pm2, left)
}

/**
 * @param {Parts} parts
 * @param {number} slot - the new worker's place; the old worker of that slot goes on meanwhile
 */
async function startBeside({ pm2, ecosystem: { workers } }, slot) {
  const known = new Set(find(pm2, workers).map(({ pm_id: id }) => id))
  const startedMs = performance.now()
  const findMade = () => find(pm2, workers).filter(({ pm_id: id }) => !known.has(id))
  try {
    pm2.run(startArguments(workers), { ...workers.env, LETTERLOCK_WORKER: String(slot) })
  } catch (error) {
    // The new process may be in PM2's list, and would be started again and again with the others.
    await end(pm2, findMade())
    throw error
  }
  // After `listen_timeout` PM2 takes a process for ready that has not said so.
  const isInTime = performance.now() - startedMs < workers.listen_timeout
  const made = findMade()
  if (made.length > 0 && made.every(isUp) && isInTime) return
  await end(pm2, made)
  throw new CliError(
    `The new worker ${slot} is not ready, and no further one is replaced: see ${pm2.logOf(workers.name)}`
  )
}

/**
 * @param {Ecosystem['workers']} workers
 * @returns {string[]} arguments that start one more worker: with ECOSYSTEM, PM2 would start anew all of that name
 */
const startArguments = ({ script, name, cwd, args, node_args: nodeArguments, ...app }) => [
  ...['start', script, '--force', '--name', name, '--instances', '1', '--cwd', cwd],
  ...['--stop-exit-codes', String(app.stop_exit_codes), '--node-args', nodeArguments.join(' ')],
  ...['--listen-timeout', String(app.listen_timeout), '--kill-timeout', String(app.kill_timeout)],
  ...['--exp-backoff-restart-delay', String(app.exp_backoff_restart_delay)],
  ...['--wait-ready', '--merge-logs', '--', args]
]

/** @param {Parts} parts */
async function renewBackup({ pm2, ecosystem: { backup }, tell }) {
  await end(pm2, find(pm2, backup))
  pm2.run(['start', ECOSYSTEM, '--only', backup.name])
  const started = find(pm2, backup)
  if (started.length !== 1 || !started.every(isUp))
    throw new CliError(`The nightly backup does not start: see ${pm2.logOf(backup.name)}`)
  tell('the nightly backup is ready')
}

/**
 * @param {import('./pm2.js').Pm2} pm2
 * @param {{ name: string }} app
 * @returns {ListedProcess[]}
 */
const find = (pm2, app) => pm2.list().filter(({ name }) => name === app.name)

/**
 * @param {import('./pm2.js').Pm2} pm2
 * @param {ListedProcess[]} processes - which are gone once this resolves
 */
async function end(pm2, processes) {
  const ids = new Set(processes.map(({ pm_id: id }) => id))
  let tries = 0
  while (ids.size > 0) {
    const left = pm2.list().filter(({ pm_id: id }) => ids.has(id))
    if (left.length === 0) return
    const isStarting = left.some(({ pm2_env: { status } }) => status === 'launching')
    // PM2 starts a process once more that is told to end before it is ready: so that is waited for.
    if (isStarting && tries++ < START_TRIES) await sleep(LOOK_MS)
    else for (const { pm_id: id } of left) pm2.run(['delete', String(id)])
  }
}

/** @param {ListedProcess} process */
const slotOf = ({ pm2_env: { LETTERLOCK_WORKER: slot } }) => Number(slot)

/**
 * @param {ListedProcess} process - a new one
 * @returns {boolean} whether it is ready, and was at the first attempt
 */
const isUp = ({ pm2_env: { status, restart_time: restarts } }) =>
  status === 'online' && restarts === 0
