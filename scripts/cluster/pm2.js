/**
 * PM2 as a program: nothing of it is imported (docs/dependencies.md).
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { daemonEnvironment } from '../../config/runtime.js'
import { CliError } from '../../src/cli/cli-error.js'

/**
 * @typedef {object} ListedProcess - as far as it is looked at
 * @property {string} name - of its app
 * @property {number} pm_id
 * @property {{ status: string, restart_time: number, LETTERLOCK_WORKER?: number | string }} pm2_env
 */

export const ECOSYSTEM = fileURLToPath(new URL('../../ecosystem.config.js', import.meta.url))

/** What Node loads into the daemon: a URL, because PM2 divides its options at each space. */
const DAEMON_OPTIONS = `--import=${new URL('daemon-output.js', import.meta.url)}`

const PROGRAM = createRequire(import.meta.url).resolve('pm2/bin/pm2')

/** The file in PM2's folder that says which Node the daemon was started with. */
const NODE = 'node'

/** At most so many bytes of PM2's list, which has the whole environment of each process. */
const LIST_BYTES = 64 * 1024 * 1024

/** The project's own PM2, with a daemon of its own. */
export class Pm2 {
  #environment

  /** @param {ReturnType<typeof import('../../config/runtime.js').clusterEnvironment>} environment */
  constructor(environment) {
    this.#environment = environment
  }

  /** @returns {string} PM2's folder */
  get home() {
    return this.#environment.PM2_HOME
  }

  /**
   * @param {string} app
   * @returns {string} the file that has what its processes say when they fail
   */
  logOf(app) {
    return join(this.home, 'logs', `${app}-error.log`)
  }

  /** Starts the daemon without settings: the first other command would start it with the settings of that time. */
  startDaemon() {
    const before = this.#read('pm2.pid')
    this.#spawn(['ping'], {
      PM2_NODE_OPTIONS: DAEMON_OPTIONS,
      ...daemonEnvironment(this.#environment)
    })
    if (this.#read('pm2.pid') !== before) writeFileSync(join(this.home, NODE), process.execPath)
  }

  /** @returns {string} the Node of the daemon, on which it starts all workers, of whatever release they are */
  get node() {
    return this.#read(NODE) ?? process.execPath
  }

  /**
   * @param {string} name - of a file in PM2's folder
   * @returns {string | null} null where there is none
   */
  #read(name) {
    const path = join(this.home, name)
    return existsSync(path) ? readFileSync(path, 'utf8') : null
  }

  /**
   * @param {string[]} args
   * @returns {number} the exit code; what PM2 says goes to the terminal
   */
  show(args) {
    const { status } = spawnSync(process.execPath, [PROGRAM, ...args], {
      stdio: 'inherit',
      env: this.#environment
    })
    return status ?? 1
  }

  /**
   * @param {string[]} args
   * @param {NodeJS.ProcessEnv} [more] - variables
   * @throws {CliError} with what PM2 has said, where it fails
   */
  run(args, more = {}) {
    this.#spawn(args, { ...this.#environment, ...more })
  }

  /** @returns {ListedProcess[]} */
  list() {
    // PM2 may print a greeting before the list.
    const [list] = /^\[.*\]$/m.exec(this.#spawn(['jlist'], this.#environment)) ?? ['[]']
    return JSON.parse(list)
  }

  /**
   * @param {string[]} args
   * @param {NodeJS.ProcessEnv} env
   * @returns {string} what PM2 has written to standard output
   */
  #spawn(args, env) {
    const { status, stdout, stderr, error } = spawnSync(process.execPath, [PROGRAM, ...args], {
      encoding: 'utf8',
      env,
      maxBuffer: LIST_BYTES
    })
    // A list is not told: it has the environment of each process, keys of an object storage too.
    const said = error?.message ?? (args[0] === 'jlist' ? stderr : stdout + stderr)
    if (status !== 0) throw new CliError(`pm2 ${args.join(' ')} has failed:\n${said}`.trimEnd())
    return stdout
  }
}
