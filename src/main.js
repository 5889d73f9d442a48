#!/usr/bin/env node
/**
 * Process entry. Makes sure of the runtime before anything else is loaded, because the SQLite addon crashes on
 * an older Node, then hands over to the command line. The only file that ends the process by process.exit.
 *
 * This file must load on every Node that an operator may have: no syntax and no import newer than Node 18.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import {
  ALLOCATOR,
  COMPILER_FLAGS,
  GROWTH_AFTER_MS,
  GROWTH_FLAG,
  NODE_FLAGS,
  SERVER_FLAGS,
  THREAD_POOL_SIZE
} from '../config/runtime.js'

/** As `engines` in package.json says: ML-KEM in node:crypto came with 24.7. */
const MINIMUM_NODE = [24, 7]

/** So that whatever is made under the data folder is for the server's user alone. */
process.umask(0o077)

const script = fileURLToPath(import.meta.url)
const flags = process.argv[2] === 'serve' ? SERVER_FLAGS : NODE_FLAGS
const runtimeArguments = [...flags, script, ...process.argv.slice(2)]
const runtimeEnvironment = { ...ALLOCATOR, ...process.env, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE }

/** @returns {boolean} */
function isSupportedNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = MINIMUM_NODE
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

/** @returns {string | undefined} the Node binary that this project carries as a dependency */
function findPinnedNode() {
  try {
    return createRequire(import.meta.url).resolve(
      `node-${process.platform}-${process.arch}/bin/node`
    )
  } catch {
    return undefined
  }
}

/**
 * Runs this program again under the pinned Node, passing signals on, and ends as it ends.
 *
 * @param {string} node
 */
function runUnder(node) {
  const child = spawn(node, runtimeArguments, { stdio: 'inherit', env: runtimeEnvironment })
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal))
  }
  process.on('SIGINT', () => {
    // A terminal sends it to both processes: passed on, it would be the second Ctrl-C, which ends a server at once.
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
  child.on('error', (error) => {
    process.stderr.write(`letterlock: ${node} cannot be started: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}

/**
 * Looks at the flags, which are given together with the environment. The environment would not do: where the binary has
 * capabilities, glibc (2.39) takes the allocator's variables away at each start.
 *
 * @returns {boolean} whether this process already has what runtimeArguments and runtimeEnvironment give
 */
function isPrepared() {
  const isClusterWorker = process.env['NODE_UNIQUE_ID'] !== undefined || process.send !== undefined
  return isClusterWorker || flags.every((flag) => process.execArgv.includes(flag))
}

// Without /proc, as in a bare chroot, Node would end with a dump, at its new start or when it is asked how much memory it takes.
if (process.platform === 'linux' && !existsSync('/proc/self')) {
  process.stderr.write(
    'letterlock needs /proc, which is not mounted here (mount -t proc proc /proc)\n'
  )
  process.exit(1)
}
if (!isSupportedNode()) {
  const pinned = findPinnedNode()
  if (pinned === undefined) {
    process.stderr.write(
      `letterlock needs Node.js ${MINIMUM_NODE.join('.')} or newer; this is ${process.versions.node}, and no pinned one is installed (run npm ci)\n`
    )
    process.exit(1)
  }
  runUnder(pinned)
} else if (!isPrepared() && typeof process.execve === 'function') {
  process.execve(process.execPath, [process.execPath, ...runtimeArguments], runtimeEnvironment)
} else {
  // This heap keeps the size that it was started with (NODE_FLAGS); those of later threads begin small, as V8 has it.
  setFlagsFromString('--min-semi-space-size=0')
  if (process.argv[2] !== 'serve')
    setTimeout(setFlagsFromString, GROWTH_AFTER_MS, GROWTH_FLAG).unref()
  const { runCommandLine } = await import('./cli/index.js')
  /** @type {import('./cli/index.js').CliContext['startServer']} */
  const startServer = async (options) => {
    const server = await (await import('./compose.js')).startServer(options)
    for (const flag of [GROWTH_FLAG, ...COMPILER_FLAGS]) setFlagsFromString(flag)
    return server
  }
  const exitCode = await runCommandLine(process.argv, { startServer })
  const { leaveUnanswered } = await import('./cli/leave-unanswered.js')
  await leaveUnanswered(exitCode)
  process.exit(exitCode)
}
