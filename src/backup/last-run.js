/**
 * Which backup this host has made last, as its own directory tells: the place of the backups may have lost it.
 */
import { generationTimeMs } from './repository.js'

/** A generation's name tells the second in which it began. */
const NAME_MS = 1000

/**
 * Of a host that has had two places, each has its own. What a clock that was ahead has dated is removed by hand.
 *
 * @param {readonly { detail?: Record<string, unknown> | undefined }[]} runs - events of `backup`, the newest first
 * @param {{ label: string, nowMs: number, setUpMs?: number }} place - the target's; `setUpMs`: those of before lie on what had
 *   its name then
 * @returns {string | null} the generation's name; null where this host knows of none there
 */
export function lastRunIn(runs, { label, nowMs, setUpMs = 0 }) {
  const last = runs.find(({ detail }) => {
    const startedMs = generationTimeMs(String(detail?.['generation']))
    return detail?.['target'] === label && startedMs > setUpMs - NAME_MS && startedMs <= nowMs
  })
  return last ? String(last.detail?.['generation']) : null
}
