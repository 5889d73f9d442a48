/**
 * The end of a process whose file system does not answer, as a share whose server is away. Node joins its threads at its end,
 * by process.exit too: it would wait for as long.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** What was begun last has ended by then, ms. */
const GRACE_MS = 1000
const LOOK_MS = 20

/** @returns {boolean} whether the file system still has to answer */
const isWaiting = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))

/**
 * Returns where nothing is waited for. Else another Node takes the place of this one, threads and all, and ends in its stead.
 *
 * @param {number} exitCode
 * @param {number} [graceMs]
 */
export async function leaveUnanswered(exitCode, graceMs = GRACE_MS) {
  const endMs = performance.now() + graceMs
  while (isWaiting() && performance.now() < endMs) await sleep(LOOK_MS)
  if (!isWaiting()) return
  process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${exitCode})`], {})
}
