/**
 * Finds the messages of threads by THREADID (RFC 8474 §5.2), which is made of what each message says.
 */
import { threadIdOf } from './object-id.js'

/** @import { Session } from './session.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** Messages in one read: the store takes no more. */
const PAGE_MESSAGES = 500

/**
 * @param {Session} session - with a selected mailbox, which the caller holds
 * @param {ReadonlySet<string>} wanted - THREADIDs
 * @param {Slicer} slicer
 * @returns {Promise<Map<string, number[]>>} UIDs of the messages of each, ascending; without those that have none
 */
export async function findThreads(session, wanted, slicer) {
  const { view } = session.requireSelected()
  /** @type {Map<string, number[]>} */
  const found = new Map()
  for (let start = 0; start < view.length; start += PAGE_MESSAGES) {
    await slicer.breathe()
    const uids = view.uids.subarray(start, Math.min(start + PAGE_MESSAGES, view.length))
    const records = await session.store.readMessages(view.mailboxId, [...uids], {
      threadRoot: true
    })
    for (const record of records) {
      const id = threadIdOf(record)
      if (!wanted.has(id)) continue
      const known = found.get(id)
      if (known) known.push(record.uid)
      else found.set(id, [record.uid])
    }
  }
  return found
}
