/**
 * The thread of child.js: starts the process, gives it its key, and hands on what it says. The key goes through the
 * pipe of the child's standard input: arguments and environment are for every user of the machine to read.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

/** @typedef {import('./thread.js').ThreadMessage} ThreadMessage */

const HOST = fileURLToPath(new URL('child-host.js', import.meta.url))

const { module, data, key, writtenFile } =
  /** @type {{ module: string, data: object, key: SharedArrayBuffer, writtenFile?: string }} */ (
    workerData
  )

const child = spawn(process.execPath, ['--disable-sigusr1', HOST, module, writtenFile ?? ''], {
  stdio: ['pipe', 'ignore', 'ignore', 'ipc']
})
/** @type {ThreadMessage | null} */
let last = null
// Its last message may be read after its exit was noticed.
const disconnected = once(child, 'disconnect')
child.on('message', (message) => {
  last = /** @type {ThreadMessage} */ (message)
})
child.on('error', (error) => {
  throw error
})
child.on('exit', async (code, signal) => {
  await disconnected
  const detail = `a child ended with ${signal ?? code}`
  parentPort?.postMessage(last ?? { kind: 'failed', failure: { code: 'BUSY', detail } })
})
if (child.pid !== undefined) {
  // Behind everybody who serves somebody.
  setPriority(child.pid, constants.priority.PRIORITY_LOW)
  parentPort?.postMessage({ kind: 'progress', value: child.pid })
  const secret = Buffer.alloc(key.byteLength)
  secret.set(new Uint8Array(key))
  // A child that is killed meanwhile breaks the pipe; its exit says so already.
  child.stdin?.on('error', () => {})
  child.stdin?.write(secret, () => secret.fill(0))
  child.stdin?.end(JSON.stringify(data))
}
