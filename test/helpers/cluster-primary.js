/**
 * The smallest process manager over node:cluster: what PM2 does with the workers, without PM2. A program of its own:
 *
 *     node cluster-primary.js WORKERS serve --data … (as for the server)
 *
 * Says `up` on its IPC channel once all workers are ready; a worker that dies is started again in its place. Understands
 * `reload` (one worker after the other: the new one is ready before the old one is told to go) and `kill` (SIGKILL to a
 * random worker), and answers both when they are through. SIGTERM ends it and its workers.
 */
import cluster from 'node:cluster'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { SERVER_FLAGS } from '../../config/runtime.js'

const [count = '', ...args] = process.argv.slice(2)
let isStopping = false

// As scripts/cluster.js does for PM2, and for the same reason.
cluster.schedulingPolicy = cluster.SCHED_NONE
cluster.setupPrimary({
  exec: fileURLToPath(new URL('../../src/main.js', import.meta.url)),
  args,
  // As in `startServerProcess`.
  execArgv: [...SERVER_FLAGS, '--use-largepages=off']
})

/** @type {Map<number, import('node:cluster').Worker>} */
const workers = new Map()
/** @type {Map<number, Promise<void>>} */
const restarted = new Map()

/**
 * @param {number} slot
 * @returns {Promise<void>} when it is ready
 */
async function start(slot) {
  const worker = cluster.fork({ LETTERLOCK_WORKER: String(slot) })
  workers.set(slot, worker)
  worker.on('exit', (code, signal) => {
    process.stderr.write(`worker ${slot} exit ${code} ${signal}\n`)
    if (workers.get(slot) === worker && !isStopping) restarted.set(slot, start(slot))
  })
  for (;;) {
    const [message] = await once(worker, 'message')
    if (message === 'ready') return
  }
}

async function reload() {
  for (const [slot, old] of [...workers]) {
    const gone = once(old, 'exit')
    await start(slot)
    old.process.kill('SIGINT')
    await gone
  }
}

/** @returns {Promise<number>} process id of the worker that was killed, once another has taken its place */
async function kill() {
  const slot = randomInt(workers.size)
  const worker = /** @type {import('node:cluster').Worker} */ (workers.get(slot))
  const exited = once(worker, 'exit')
  worker.process.kill('SIGKILL')
  await exited
  await restarted.get(slot)
  return worker.process.pid ?? 0
}

process.on('message', async (request) => {
  const answer = request === 'reload' ? await reload() : await kill()
  process.send?.({ done: request, answer })
})
process.on('SIGTERM', async () => {
  isStopping = true
  const all = [...workers.values()].filter((worker) => !worker.isDead())
  const gone = all.map((worker) => once(worker, 'exit'))
  for (const worker of all) worker.process.kill('SIGTERM')
  await Promise.all(gone)
  process.exit(0)
})
// The process that started this one has ended.
process.on('disconnect', () => process.exit(1))

await Promise.all(Array.from({ length: Number(count) }, (_, slot) => start(slot)))
process.send?.({ done: 'up' })
