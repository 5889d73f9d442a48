/**
 * The process of child.js: jobs come on standard input, one after the other, and each runs in a thread. It ends with its
 * parent, in the middle of a statement if need be: work that nobody waits for must not hold a lock.
 */
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { toThreadFailure } from './thread.js'

/**
 * @typedef {Omit<import('./child.js').ChildJob, 'key'>} Facts
 * @typedef {import('./thread.js').ThreadMessage} ThreadMessage
 */

/** The file that a job writes is synced once in so many ms. */
const SYNC_INTERVAL_MS = 50

const KEY_BYTES = 32
const HEAD_BYTES = 4 + KEY_BYTES

let isAtWork = false

const die = () => process.kill(process.pid, 'SIGKILL')

process.on('disconnect', die)

/** Bytes of the next job that have come so far. */
let received = Buffer.alloc(0)
process.stdin.on('data', (/** @type {Buffer} */ piece) => {
  const joined = Buffer.concat([received, piece])
  for (const bytes of [received, piece]) bytes.fill(0)
  received = joined
  if (received.length < HEAD_BYTES || received.length < HEAD_BYTES + received.readUInt32BE()) return
  const key = new SharedArrayBuffer(KEY_BYTES)
  new Uint8Array(key).set(received.subarray(4, HEAD_BYTES))
  const facts = JSON.parse(received.subarray(HEAD_BYTES).toString('utf8'))
  received.fill(0)
  received = Buffer.alloc(0)
  runJob(facts, key)
})
// No more jobs will come. During a job this means that the parent has died: at times it shows here before `disconnect`.
process.stdin.on('end', () => {
  if (isAtWork) die()
  process.removeAllListeners('disconnect')
  process.disconnect()
})

/**
 * @param {Facts} facts
 * @param {SharedArrayBuffer} key
 */
function runJob({ module, data, writtenFile }, key) {
  isAtWork = true
  const work = new AbortController()
  // A failed sync is ignored here: it fails for the store that has the file open as well, which acts on it.
  if (writtenFile !== '') syncWhileWorking(writtenFile, work.signal).catch(() => {})
  /** @type {ThreadMessage} */
  let last = { kind: 'failed', failure: { code: '', detail: 'no answer' } }
  const worker = new Worker(new URL(module), { workerData: { ...data, key } })
  worker.on('message', (/** @type {ThreadMessage} */ message) => {
    if (message.kind !== 'progress') last = message
  })
  worker.on('error', (error) => {
    last = { kind: 'failed', failure: toThreadFailure(error) }
  })
  worker.on('exit', () => {
    work.abort()
    new Uint8Array(key).fill(0)
    isAtWork = false
    process.send?.(last)
  })
}

/**
 * Syncs the file again and again while the job writes it: small syncs keep nobody else's waiting for long.
 *
 * @param {string} path - carries no locks: see durability.js
 * @param {AbortSignal} signal
 */
async function syncWhileWorking(path, signal) {
  const file = await open(path, 'r')
  try {
    while (!signal.aborted) {
      await sleep(SYNC_INTERVAL_MS, undefined, { signal })
      await file.datasync()
    }
  } finally {
    await file.close()
  }
}
