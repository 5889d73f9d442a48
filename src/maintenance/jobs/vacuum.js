/**
 * Writes a mailbox anew of which more than a quarter is free. In place and in a child, which is killed as soon as the
 * user writes. What it takes goes by what is in the file, not by the file's size (measured: a file of 166 MB that was
 * emptied is written anew in 14 ms and takes no memory to speak of; 49 MB of content take 1 s).
 */
import { isFrozen } from '../../database/freeze-file.js'
import { freeText, isFreeAbove, spaceFigures } from './space.js'

const MIN_FREE_PART = 0.25

/** No user of another process waits longer than this for the lock. */
const MAX_MS = 20_000

/** What must be left of memory and disk besides, bytes. */
const RESERVE_BYTES = 128 * 1024 * 1024

/** Pages are copied with their free parts, and SQLite needs some memory itself. */
const MARGIN = 1.2

/** @param {import('./space.js').Space} space */
const contentBytes = ({ pages, freePages, pageBytes }) => (pages - freePages) * pageBytes

/**
 * @param {import('../job.js').JobContext} context
 * @param {number} bytes - content of the file
 * @returns {Promise<string | null>} why there is no room for it
 */
async function whatIsMissing({ store, resources }, bytes) {
  const needed = bytes * MARGIN + RESERVE_BYTES
  const usesDisk = store.upkeep.tempStore === 'disk'
  if (!usesDisk && resources.freeMemoryBytes() < needed) return 'too little memory'
  const disk = usesDisk ? needed + bytes * MARGIN : needed
  if ((await resources.freeDiskBytes(store.folder)) < disk) return 'too little room on the disk'
  return null
}

/** @type {import('../job.js').MaintenanceJob} */
export const vacuum = {
  name: 'vacuum',
  intervalMs: ({ vacuumMaxBytes }) => (vacuumMaxBytes === 0 ? Infinity : 0),
  isHeavy: true,
  async wants({ store, settings }) {
    // While a backup reads it, all that is written stays in the log.
    if (isFrozen(store.folder)) return null
    const space = await store.upkeep.readSpace()
    if (!isFreeAbove(space, MIN_FREE_PART)) return null
    return contentBytes(space) <= settings.vacuumMaxBytes ? freeText(space) : null
  },
  async run(context) {
    const { store, signal } = context
    const space = await store.upkeep.readSpace()
    const before = spaceFigures(space)
    const note = await whatIsMissing(context, contentBytes(space))
    if (note !== null) return { result: 'skipped', note, before, after: before }
    const { isDone } = await store.upkeep.vacuum({
      signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)])
    })
    const after = spaceFigures(await store.upkeep.readSpace())
    return { result: isDone ? 'done' : 'stopped', before, after }
  }
}
