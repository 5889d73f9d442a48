/**
 * The process of child.js: `child-host.js <module> <written file>`, key and data on standard input. It ends with its
 * parent, in the middle of a statement if need be: work that nobody waits for must not hold a lock.
 */
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { toThreadFailure } from './thread.js'

/** Time between two syncs of what the work writes, milliseconds. */
const SYNC_INTERVAL_MS = 50

/** Bytes of the key, which come first. */
const KEY_BYTES = 32

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

const [module = '', writtenFile = ''] = process.argv.slice(2)
/** @type {Buffer[]} */
const pieces = []
for await (const piece of process.stdin) pieces.push(piece)
const input = Buffer.concat(pieces)
const key = new SharedArrayBuffer(KEY_BYTES)
new Uint8Array(key).set(input.subarray(0, KEY_BYTES))
const data = JSON.parse(input.subarray(KEY_BYTES).toString('utf8'))
for (const bytes of [...pieces, input]) bytes.fill(0)

// A sync that fails here fails for whoever has the file open as well, and there it counts.
if (writtenFile !== '') syncWhileWorking(writtenFile).catch(() => {})

/**
 * What is written little by little keeps nobody else's sync waiting.
 *
 * @param {string} path - carries no locks: see durability.js
 */
async function syncWhileWorking(path) {
  const file = await open(path, 'r')
  // Referenced by nothing that keeps the process: it ends when the work does.
  for (;;) {
    await sleep(SYNC_INTERVAL_MS, undefined, { ref: false })
    await file.datasync()
  }
}

/** @type {import('./thread.js').ThreadMessage | null} */
let last = null
const worker = new Worker(new URL(module), { workerData: { ...data, key } })
worker.on('message', (/** @type {import('./thread.js').ThreadMessage} */ message) => {
  if (message.kind !== 'progress') last = message
})
worker.on('error', (error) => {
  last = { kind: 'failed', failure: toThreadFailure(error) }
})
worker.on('exit', () => {
  process.removeAllListeners('disconnect')
  process.send?.(last, () => process.disconnect())
})
