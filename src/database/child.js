/**
 * Statements that nothing may have to wait for run in a child process: a thread cannot be ended inside a statement, a
 * child can, and what it had begun is gone with it (the `-wal` keeps nothing that was not committed).
 *
 * The child runs a module that is made for a thread (see thread.js) in a thread of its own. Its key comes through the
 * pipe of its standard input: arguments and environment are for every user of the machine to read.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { MailError } from '../errors.js'
import { fromThreadFailure } from './thread.js'

/** @typedef {import('./thread.js').ThreadMessage} ThreadMessage */

const HOST = fileURLToPath(new URL('child-host.js', import.meta.url))

/**
 * @param {URL} module - posts ThreadMessages; its `workerData` is `data` with the key as `key`
 * @param {object} options
 * @param {object} options.data - plain values, nothing secret: they travel beside the key
 * @param {SharedArrayBuffer} options.key - 32 bytes, the caller's
 * @param {AbortSignal} [options.signal] - kills the child at once
 * @param {(pid: number) => void} [options.onStart]
 * @returns {Promise<unknown>} the value of its `done` message, once the process is gone
 * @throws {MailError} what it failed with; SHUTTING_DOWN when it was killed by `signal`
 */
export function runChild(module, { data, key, signal, onStart }) {
  if (signal?.aborted) return Promise.reject(new MailError('SHUTTING_DOWN'))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--disable-sigusr1', HOST, module.href], {
      stdio: ['pipe', 'ignore', 'ignore', 'ipc']
    })
    /** @type {ThreadMessage | null} */
    let last = null
    const stop = () => child.kill('SIGKILL')
    signal?.addEventListener('abort', stop, { once: true })
    child.on('message', (message) => {
      last = /** @type {ThreadMessage} */ (message)
    })
    // Its last message may be read after its exit was noticed.
    const disconnected = once(child, 'disconnect')
    child.on('error', (error) => {
      signal?.removeEventListener('abort', stop)
      reject(error)
    })
    child.on('exit', async (code, byWhat) => {
      signal?.removeEventListener('abort', stop)
      await disconnected
      if (last?.kind === 'done') resolve(last.value)
      else if (last?.kind === 'failed') reject(fromThreadFailure(last.failure))
      else if (signal?.aborted) reject(new MailError('SHUTTING_DOWN'))
      else reject(new MailError('BUSY', { detail: `a child ended with ${byWhat ?? code}` }))
    })
    if (child.pid === undefined) return
    // Behind everybody who serves somebody.
    setPriority(child.pid, constants.priority.PRIORITY_LOW)
    onStart?.(child.pid)
    sendKey(child.stdin, key, data)
  })
}

/**
 * @param {import('node:stream').Writable | null} stdin
 * @param {SharedArrayBuffer} key
 * @param {object} data
 */
function sendKey(stdin, key, data) {
  const secret = Buffer.alloc(key.byteLength)
  secret.set(new Uint8Array(key))
  // A child that is killed meanwhile breaks the pipe; its exit says so already.
  stdin?.on('error', () => {})
  stdin?.write(secret, () => secret.fill(0))
  stdin?.end(JSON.stringify(data))
}
