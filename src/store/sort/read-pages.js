/**
 * Reads stored rows of many messages, a page at a time, for SORT and THREAD. No message is parsed for it.
 */
/** @import { AccountStore, MessageNeeds, MessageRecord } from '../account-store.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** Messages a page: some 2 ms. */
const MESSAGES_A_PAGE = 250
/** Where ENVELOPEs are read, which may be large: some 100 KiB a page as a rule. */
const ENVELOPES_A_PAGE = 100

/**
 * @param {object} source
 * @param {AccountStore} source.store
 * @param {MailboxView} source.view - whose slots stay in place meanwhile
 * @param {readonly number[]} slots - ascending
 * @param {MessageNeeds} needs
 * @param {Slicer} slicer
 * @returns {AsyncGenerator<{ slot: number, record: MessageRecord }>} in the order of the slots; messages that have gone
 *   meanwhile are left out
 */
export async function* readPages({ store, view }, slots, needs, slicer) {
  const pageSize = needs.envelope ? ENVELOPES_A_PAGE : MESSAGES_A_PAGE
  for (let start = 0; start < slots.length; start += pageSize) {
    await slicer.breathe()
    const page = slots.slice(start, start + pageSize)
    const uids = page.map((slot) => /** @type {number} */ (view.uids[slot]))
    for (const record of await store.readMessages(view.mailboxId, uids, needs))
      yield { slot: view.slotOf(record.uid), record }
  }
}

/**
 * @param {MessageRecord} record - read with `search`
 * @returns {number} the sent date of RFC 5256 §2.2, seconds
 */
export function sentSeconds({ sentDate, internalDate }) {
  return (sentDate ?? internalDate).epochSeconds
}
