/**
 * Gives free pages back to the file system (incremental_vacuum) beside whatever goes on: those of mailboxes that VACUUM did not
 * come to, or that are too large for it.
 */
import { isFrozen } from '../../database/freeze-file.js'
import { freeText, isFreeAbove, spaceFigures } from './space.js'

const MIN_FREE_PART = 0.15

/** @type {import('../job.js').MaintenanceJob} */
export const release = {
  name: 'release',
  intervalMs: () => 0,
  async wants({ store }) {
    // While a backup reads the file, all that is written stays in the log.
    if (isFrozen(store.folder)) return null
    const space = await store.upkeep.readSpace()
    return isFreeAbove(space, MIN_FREE_PART) ? freeText(space) : null
  },
  async run({ store, signal }) {
    const before = spaceFigures(await store.upkeep.readSpace())
    const { slices, longestMs } = await store.upkeep.releasePages({ signal })
    const after = {
      ...spaceFigures(await store.upkeep.readSpace()),
      slices,
      longestMs: Math.round(longestMs)
    }
    return { result: signal.aborted ? 'stopped' : 'done', before, after }
  }
}
