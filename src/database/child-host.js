/**
 * The process of child.js: `child-host.js <module>`, key and data on standard input. It ends with its parent, in the
 * middle of a statement if need be: work that nobody waits for must not hold a lock.
 */
import { Worker } from 'node:worker_threads'
import { toThreadFailure } from './thread.js'

/** Bytes of the key, which come first. */
const KEY_BYTES = 32

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

/** @type {Buffer[]} */
const pieces = []
for await (const piece of process.stdin) pieces.push(piece)
const input = Buffer.concat(pieces)
const key = new SharedArrayBuffer(KEY_BYTES)
new Uint8Array(key).set(input.subarray(0, KEY_BYTES))
const data = JSON.parse(input.subarray(KEY_BYTES).toString('utf8'))
for (const bytes of [...pieces, input]) bytes.fill(0)

/** @type {import('./thread.js').ThreadMessage | null} */
let last = null
const worker = new Worker(new URL(process.argv[2] ?? ''), { workerData: { ...data, key } })
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
