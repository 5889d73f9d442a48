/**
 * The figures of this worker, as plain data: what one worker asks another for, and what `mergeSnapshots` adds up.
 */
import { getHeapStatistics } from 'node:v8'
import { snapshotCounters } from '../telemetry/counters.js'
import { residentMemory } from '../telemetry/resident-memory.js'

/** @import { WorkerSnapshot } from '../telemetry/snapshot.js' */

/**
 * @typedef {object} WorkerParts - as far as the figures need them
 * @property {{ counts: () => import('../imap/session/session-facts.js').SessionCounts }} imap
 * @property {{ figures: import('../accounts/open-accounts.js').OpenAccountsFigures }} openAccounts
 * @property {{ figures: import('../maintenance/worker.js').WorkerFigures }} maintenance
 * @property {import('../telemetry/event-loop.js').EventLoopMeter} eventLoop
 * @property {Pick<import('../telemetry/pressure.js').PressureGuard, 'figures'>} pressure
 * @property {Pick<import('../accounts/argon2-queue.js').Argon2Queue, 'figures'>} argon2
 * @property {number | null} slot - null where this is the only worker
 */

/**
 * @param {WorkerParts} parts
 * @returns {WorkerSnapshot}
 */
export function takeWorkerSnapshot({
  imap,
  openAccounts,
  maintenance,
  eventLoop,
  pressure,
  argon2,
  slot
}) {
  // Not process.memoryUsage(), which throws where no file can be opened.
  const heap = getHeapStatistics()
  const { user, system } = process.cpuUsage()
  const { largestWalBytes, ...mailboxes } = openAccounts.figures
  return {
    slot,
    sums: {
      .../** @type {any} */ (snapshotCounters()),
      workers: 1,
      sessions: { ...imap.counts() },
      pressure: { ...pressure.figures },
      argon2: argon2.figures,
      mailboxes,
      maintenance: { ...maintenance.figures },
      process: {
        rss: residentMemory().bytes,
        heapUsed: heap.used_heap_size,
        external: heap.external_memory,
        cpuSeconds: (user + system) / 1e6
      }
    },
    maxima: {
      eventLoopP50Ms: eventLoop.figures.p50Ms,
      eventLoopP99Ms: eventLoop.figures.p99Ms,
      eventLoopMaxMs: eventLoop.figures.maxMs,
      largestWalBytes,
      uptimeSeconds: process.uptime()
    }
  }
}
