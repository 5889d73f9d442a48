/**
 * Which backup this host has made last, as its own directory tells: the place of the backups may have lost it.
 */
import { MailError } from '../errors.js'
import { generationTimeMs } from './repository.js'

/** At most so many of this host's last runs are looked through. */
export const MAX_RUNS = 500

/** A generation's name tells the second in which it began. */
const NAME_MS = 1000

/**
 * A host that has had two places has a last run for each. A run that was dated by a clock ahead of time does not count: its
 * manifest is to be removed by hand (docs/backup.md).
 *
 * @param {readonly { detail?: Record<string, unknown> | undefined }[]} runs - events of `backup`, the newest first
 * @param {{ label: string, nowMs: number, setUpMs?: number }} place - the target's; `setUpMs`: when it was set up; earlier runs
 *   lie on whatever had its name then
 * @returns {string | null} the generation's name; null where this host knows of none there
 */
export function lastRunIn(runs, { label, nowMs, setUpMs = 0 }) {
  const last = runs.find(({ detail }) => {
    const startedMs = generationTimeMs(String(detail?.['generation']))
    return detail?.['target'] === label && startedMs > setUpMs - NAME_MS && startedMs <= nowMs
  })
  return last ? String(last.detail?.['generation']) : null
}

/**
 * A place without any manifest would pass for one where no backup was made yet, and the operator would be told to make one. The
 * prune after that would leave nothing of what the lost manifests need.
 *
 * @param {Parameters<typeof lastRunIn>[0]} runs
 * @param {Parameters<typeof lastRunIn>[1]} place - that has no backup
 * @throws {MailError} BACKUP_DAMAGED where this host has made one there
 */
export function requireNoneLost(runs, place) {
  const last = lastRunIn(runs, place)
  if (last === null) return
  throw new MailError('BACKUP_DAMAGED', {
    detail: `${place.label} has no backup any more, not that of ${last}: bring generations/ back before the next run, or, where they are given up, letterlock backup run`
  })
}
