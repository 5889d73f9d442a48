/**
 * Moves the write-ahead log into the file and empties it, in the checkpoint thread. The last job: only now do the
 * others' savings reach the file system.
 */

/** A shorter log is emptied without a record: it happens after every visit. */
const WORTH_TELLING_BYTES = 4 * 1024 * 1024

/** @type {import('../job.js').MaintenanceJob} */
export const checkpoint = {
  name: 'checkpoint',
  intervalMs: () => 0,
  async wants({ store }) {
    const bytes = await store.upkeep.readWalBytes()
    return bytes > 0 ? `log of ${bytes} bytes` : null
  },
  async run({ store }) {
    const before = { walBytes: await store.upkeep.readWalBytes() }
    await store.checkpoint()
    const after = { walBytes: await store.upkeep.readWalBytes() }
    return { result: before.walBytes >= WORTH_TELLING_BYTES ? 'done' : 'idle', before, after }
  }
}
