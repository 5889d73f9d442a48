/**
 * The thread of child.js: starts the process, gives it its jobs, and hands on what it says. The keys go through the pipe
 * of the child's standard input: arguments and environment are for every user of the machine to read.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parentPort } from 'node:worker_threads'

/**
 * @typedef {import('./child.js').ChildJob} ChildJob
 * @typedef {import('./child.js').ChildMessage} ChildMessage
 */

const HOST = fileURLToPath(new URL('child-host.js', import.meta.url))

/** @param {ChildMessage} message */
const tell = (message) => parentPort?.postMessage(message)

const child = spawn(process.execPath, ['--disable-sigusr1', HOST], {
  stdio: ['pipe', 'ignore', 'ignore', 'ipc']
})
// Waited for after the exit: the child's last message may be read later than its exit is noticed.
const disconnected = once(child, 'disconnect')
child.on('message', (message) => tell(/** @type {ChildMessage} */ (message)))
child.on('error', (error) => {
  throw error
})
child.on('exit', async (code, signal) => {
  await disconnected
  tell({ kind: 'ended', how: String(signal ?? code) })
  parentPort?.close()
})
// A child that is killed breaks the pipe; its exit is handled elsewhere.
child.stdin?.on('error', () => {})
if (child.pid !== undefined) {
  // Work that nobody waits for gives way to every process that serves somebody.
  setPriority(child.pid, constants.priority.PRIORITY_LOW)
  tell({ kind: 'started', pid: child.pid })
}

parentPort?.on('message', (/** @type {ChildJob | null} */ job) => {
  if (job === null) {
    child.stdin?.end()
    return
  }
  const { key, ...facts } = job
  const text = Buffer.from(JSON.stringify(facts))
  // 4 bytes of length, the key, the facts.
  const frame = Buffer.alloc(4 + key.byteLength + text.length)
  frame.writeUInt32BE(text.length)
  frame.set(new Uint8Array(key), 4)
  frame.set(text, 4 + key.byteLength)
  child.stdin?.write(frame, () => frame.fill(0))
})
