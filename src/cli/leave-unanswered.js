/**
 * The end of a process whose file system does not answer, as a share whose server is away. Node waits for its threads at its
 * end, by process.exit too: it would hang for as long.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** After so long, ms, only calls that hang are left: others that were under way have ended. */
const GRACE_MS = 1000
const LOOK_MS = 20

/** @returns {boolean} whether the file system still has to answer */
const isWaiting = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))

/**
 * Returns where no call to the file system is left. Else another Node takes the place of this process (execve), which ends its
 * threads, and exits with `exitCode`.
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
