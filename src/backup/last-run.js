/**
 * Which backup this host has made last, as its own directory tells: the place of the backups may have lost it.
 */
import { generationTimeMs } from './repository.js'

/**
 * Of a host that has had two places, each has its own. What a clock that was ahead has dated is removed by hand.
 *
 * @param {readonly { detail?: Record<string, unknown> | undefined }[]} runs - events of `backup`, the newest first
 * @param {{ label: string, nowMs: number }} place - the target's
 * @returns {string | null} the generation's name; null where this host knows of none there
 */
export function lastRunIn(runs, { label, nowMs }) {
  const last = runs.find(
    ({ detail }) =>
      detail?.['target'] === label && generationTimeMs(String(detail['generation'])) <= nowMs
  )
  return last ? String(last.detail?.['generation']) : null
}
