/**
 * PM2: the workers, and the nightly backup as an app of its own. Started by `npm run cluster`, which runs the project's own
 * PM2 under the pinned Node, because workers run on the Node of PM2's daemon whatever `interpreter` says.
 *
 * The program reads its settings from the environment of whoever starts PM2 (LETTERLOCK_…), or from the file that
 * LETTERLOCK_CONFIG names.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { loadConfig } from './config/load.js'
import {
  ALLOCATOR,
  NODE_FLAGS,
  NOT_STARTED,
  SERVER_FLAGS,
  THREAD_POOL_SIZE
} from './config/runtime.js'

const script = fileURLToPath(new URL('src/main.js', import.meta.url))
const config = loadConfig()

/** A worker cannot start itself anew under other flags, as src/main.js does otherwise: they come from here. */
const common = {
  script,
  cwd: fileURLToPath(new URL('.', import.meta.url)),
  env: { ...ALLOCATOR, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE, NODE_ENV: 'production' },
  // A process says `ready`; a worker does so when all ports are bound and the other workers know it.
  wait_ready: true,
  listen_timeout: 60_000,
  // A process that dies at once again and again is not started ten times a second.
  exp_backoff_restart_delay: 100,
  // The log is JSON lines with their own times; PM2 adds nothing.
  merge_logs: true
}

export const workers = {
  ...common,
  name: 'letterlock',
  args: 'serve',
  node_args: SERVER_FLAGS,
  exec_mode: 'cluster',
  instances: config.cluster.workers || availableParallelism(),
  instance_var: 'LETTERLOCK_WORKER',
  // Not started again: such a worker would fail again and again, unseen by whoever has started it.
  stop_exit_codes: [NOT_STARTED],
  // Sessions have shutdown.graceMs; mailboxes are checkpointed and closed after that.
  kill_timeout: config.shutdown.graceMs + 30_000
}

export const backup = {
  ...common,
  name: 'letterlock-backup',
  // Sleeps until the hour, and starts the job as a process of its own each night.
  args: 'backup schedule',
  node_args: NODE_FLAGS,
  exec_mode: 'fork',
  // Without this, PM2 takes the first `node` in PATH, which may not know these flags.
  interpreter: process.execPath,
  instances: 1
}

export const apps = [workers, backup]
