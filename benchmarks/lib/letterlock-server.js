/**
 * Letterlock as an operator runs it: `serve` with its default settings, in a process of its own, on free ports of
 * loopback.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ALLOCATOR, THREAD_POOL_SIZE } from '../../config/runtime.js'
import { startCluster } from '../../test/helpers/cluster.js'

/**
 * @typedef {object} RunningServer
 * @property {number} pid - of the root process
 * @property {{ imap: number, imaps: number, lmtp: number, admin?: number }} ports - on 127.0.0.1
 * @property {() => Promise<void>} stop
 */

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const PASSWORD = 'pass'

/** @type {NodeJS.ProcessEnv} */
const ENVIRONMENT = { ...process.env, UV_THREADPOOL_SIZE: '16' }

/**
 * @param {string[]} args - of `letterlock`
 * @param {string} [input]
 * @param {Record<string, string>} [settings] - by the names of their environment variables
 * @returns {Promise<string>} standard output
 */
export async function command(args, input = '', settings = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...ENVIRONMENT, ...settings } })
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`letterlock ${args.slice(0, 2).join(' ')}: ${errors}`)
  return output
}

/**
 * Makes the accounts u1 … with the password `pass`.
 *
 * @param {string} data - folder
 * @param {number} users
 * @param {Record<string, string>} [settings] - by the names of their environment variables
 */
export async function createUsers(data, users, settings = {}) {
  mkdirSync(data, { recursive: true })
  const list = join(data, '..', 'accounts.tsv')
  writeFileSync(
    list,
    Array.from({ length: users }, (_, index) => `u${index + 1}@localhost\t${PASSWORD}\n`).join('')
  )
  await command(['account', 'create', '--data', data, '--batch', list], '', settings)
  rmSync(list)
}

/**
 * Asks the server to look after every mailbox at its next occasion.
 *
 * @param {string} data
 */
export async function askForMaintenance(data) {
  await command(['maintain', '--data', data])
}

/**
 * @param {string} data
 * @param {string} user
 * @returns {Promise<string>}
 */
export async function createAppPassword(data, user) {
  const output = await command(
    ['app-password', 'create', `${user}@localhost`, '--data', data, '--password-stdin'],
    `${PASSWORD}\n`
  )
  return output.trim()
}

/**
 * @param {string} data
 * @param {string} logFile
 * @param {Record<string, string>} [settings] - by the names of their environment variables
 * @returns {Promise<RunningServer>}
 */
export async function startLetterlock(data, logFile, settings = {}) {
  const listen = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
  const log = openSync(logFile, 'a')
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--data', data, ...listen, '--allow-plaintext-loopback'],
    { env: { ...ENVIRONMENT, ...settings }, stdio: ['ignore', 'pipe', log] }
  )
  closeSync(log)
  const closed = once(child, 'close')
  let text = ''
  await new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      text += chunk
      if (/^ready$/m.test(text)) resolve(undefined)
    })
    closed.then(() =>
      reject(new Error(`Letterlock did not start:\n${text}${readFileSync(logFile, 'utf8')}`))
    )
  })
  const port = (/** @type {string} */ name) =>
    Number(new RegExp(`^${name}\\s+127\\.0\\.0\\.1:(\\d+)`, 'm').exec(text)?.[1])
  return {
    pid: child.pid ?? 0,
    ports: {
      imap: port('imap'),
      imaps: port('imaps'),
      lmtp: port('lmtp'),
      admin: port('admin')
    },
    stop: async () => {
      child.kill('SIGTERM')
      await closed
    }
  }
}

/**
 * Starts Letterlock as several workers, as a process manager runs them.
 *
 * @param {string} data
 * @param {number} workers
 * @returns {Promise<RunningServer>}
 */
export async function startWorkers(data, workers) {
  const { pid, ports, stop } = await startCluster({
    data,
    workers,
    args: ['--allow-plaintext-loopback'],
    environment: { ...ALLOCATOR, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE }
  })
  return { pid, ports, stop }
}
