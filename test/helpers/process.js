/**
 * A real server in a process of its own: the program as an operator starts it, on free ports of loopback.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ALLOCATOR, NODE_FLAGS, SERVER_FLAGS } from '../../config/runtime.js'
import { giveCertificate } from './certificate.js'

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))

/** The cheapest argon2 that the configuration permits: the tests log in hundreds of times. */
export const ENVIRONMENT = {
  ...process.env,
  LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024),
  UV_THREADPOOL_SIZE: '16'
}

/**
 * @param {string[]} args
 * @param {{ input?: string, environment?: Record<string, string>, wrapper?: string[] }} [options] - `wrapper`: a command
 *   that the program runs under, started plainly
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
export async function letterlock(args, { input = '', environment = {}, wrapper = [] } = {}) {
  // With these flags a command does not start itself anew, which takes a fifth of its processor time: tests run hundreds.
  const [flags, allocator] = wrapper.length === 0 ? [NODE_FLAGS, ALLOCATOR] : [[], {}]
  const [command = '', ...rest] = [...wrapper, process.execPath, ...flags, MAIN, ...args]
  const child = spawn(command, rest, { env: { ...allocator, ...ENVIRONMENT, ...environment } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} [label]
 * @returns {string} a folder that goes when the test ends
 */
export function scratchFolder(t, label = 'test') {
  const folder = mkdtempSync(join(tmpdir(), `letterlock-${label}-`))
  // Hooks run in the order in which they came: a server that was started here may still make a file.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}

/**
 * @typedef {object} ServerProcess
 * @property {string} data
 * @property {Record<'imap' | 'imaps' | 'lmtp' | 'admin' | 'userPage', number>} ports - on 127.0.0.1; NaN for what is off
 * @property {import('node:child_process').ChildProcess} child
 * @property {() => string} output - standard output and error so far
 * @property {(words: string) => Promise<void>} says - when they are in its output; throws when it has ended without
 * @property {() => Promise<number | null>} stop - SIGTERM; gives the exit code
 * @property {() => Promise<void>} kill - SIGKILL
 */

/**
 * @param {string} text - what a server printed at its start
 * @returns {Record<'imap' | 'imaps' | 'lmtp' | 'admin' | 'userPage', number>} its ports; NaN where it has none
 */
export function portsIn(text) {
  const port = (/** @type {string} */ name) =>
    Number(new RegExp(`^${name}\\s+127\\.0\\.0\\.1:(\\d+)`, 'm').exec(text)?.[1])
  return {
    imap: port('imap'),
    imaps: port('imaps'),
    lmtp: port('lmtp'),
    admin: port('admin'),
    userPage: port('userPage')
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {object} options
 * @param {string} options.data
 * @param {string[]} [options.args]
 * @param {Record<string, string>} [options.environment]
 * @param {string[]} [options.wrapper] - a command that the server runs under, for instance strace
 * @param {boolean} [options.isPlaintextAllowed] - LOGIN without TLS; default true
 * @returns {Promise<ServerProcess>}
 */
export async function startServerProcess(
  t,
  { data, args = [], environment = {}, wrapper = [], isPlaintextAllowed = true }
) {
  // Only for a data folder that was served before: the first start of a server makes its own certificate.
  if (existsSync(join(data, 'directory.db'))) await giveCertificate(data)
  const listen = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
  // As in `letterlock`; and the last of two flags counts: huge pages cost a start 40 ms, and pay later than a test lasts.
  const [flags, allocator] =
    wrapper.length === 0 ? [[...SERVER_FLAGS, '--use-largepages=off'], ALLOCATOR] : [[], {}]
  const [command = '', ...rest] = [
    ...wrapper,
    process.execPath,
    ...flags,
    ...[
      MAIN,
      'serve',
      '--data',
      data,
      ...listen,
      ...(isPlaintextAllowed ? ['--allow-plaintext-loopback'] : []),
      ...args
    ]
  ]
  const child = spawn(command, rest, { env: { ...allocator, ...ENVIRONMENT, ...environment } })
  let text = ''
  child.stderr.on('data', (chunk) => (text += chunk))
  const closed = once(child, 'close')
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      text += chunk
      if (/^ready$/m.test(text)) resolve(undefined)
    })
    closed.then(() => reject(new Error(`the server did not start:\n${text}`)))
  })
  const end = async (/** @type {NodeJS.Signals} */ signal) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await closed
    return child.exitCode
  }
  t.after(() => end('SIGKILL'))
  const says = async (/** @type {string} */ words) => {
    while (!text.includes(words)) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the server has ended and did not say “${words}”:\n${text}`)
      await sleep(50)
    }
  }
  return {
    data,
    ports: portsIn(text),
    child,
    output: () => text,
    says,
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL')
    }
  }
}

/**
 * Data folders to be copied, by the accounts that they have: most tests of a file ask for the same accounts.
 *
 * @type {Map<string, Promise<string>>}
 */
const made = new Map()
/** @type {string[]} */
const parents = []
process.on('exit', () => {
  for (const parent of parents) rmSync(parent, { recursive: true, force: true })
})

/**
 * Makes accounts, in a data folder that is new or has other ones already.
 *
 * @param {string} data
 * @param {string[]} addresses
 * @param {string} [password]
 */
export async function createAccounts(data, addresses, password = 'pass') {
  if (existsSync(join(data, 'directory.db'))) return await runBatch(data, addresses, password)
  const wanted = JSON.stringify([addresses, password])
  const folder = made.get(wanted) ?? makeFolder(addresses, password)
  made.set(wanted, folder)
  await cp(await folder, data, { recursive: true })
}

/**
 * @param {string[]} addresses
 * @param {string} password
 * @returns {Promise<string>}
 */
async function makeFolder(addresses, password) {
  const parent = mkdtempSync(join(tmpdir(), 'letterlock-accounts-'))
  parents.push(parent)
  const data = join(parent, 'data')
  await runBatch(data, addresses, password)
  return data
}

/**
 * @param {string} data
 * @param {string[]} addresses
 * @param {string} password
 */
async function runBatch(data, addresses, password) {
  const list = join(data, '..', `${process.pid}-accounts.tsv`)
  writeFileSync(list, addresses.map((address) => `${address}\t${password}\n`).join(''))
  const { code, stderr } = await letterlock(['account', 'create', '--data', data, '--batch', list])
  rmSync(list)
  if (code !== 0) throw new Error(`the accounts were not made:\n${stderr}`)
}
