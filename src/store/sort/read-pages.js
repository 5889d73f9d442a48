/**
 * Reads stored rows of many messages, a page at a time, for SORT and THREAD. No message is parsed for it.
 */
import { nextPageSize } from '../page-size.js'

/** @import { AccountStore, MessageNeeds, MessageRecord } from '../account-store.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/**
 * @typedef {object} MessageSource
 * @property {AccountStore} store
 * @property {MailboxView} view - whose slots stay in place meanwhile
 */

/** Messages a page: some 2 ms. */
const MESSAGES_A_PAGE = 250
/** Where ENVELOPEs are read, which may be up to 256 KiB each: some 100 KiB a page as a rule. */
const ENVELOPES_A_PAGE = 100
/** The first page of ENVELOPEs, of which nothing is known yet. */
const FIRST_ENVELOPES = 25
/** What an identifier in References takes, as a rule. */
const REFERENCE_BYTES = 64

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {MessageNeeds} needs
 * @param {Slicer} slicer
 * @returns {AsyncGenerator<{ slot: number, record: MessageRecord }[]>} pages in the order of the slots; messages that have gone
 *   meanwhile are left out. To make something of a large one takes a while: the slicer is to be asked before each
 */
export async function* readPages({ store, view }, slots, needs, slicer) {
  const maxSize = needs.envelope ? ENVELOPES_A_PAGE : MESSAGES_A_PAGE
  let pageSize = needs.envelope ? FIRST_ENVELOPES : MESSAGES_A_PAGE
  for (let start = 0; start < slots.length;) {
    await slicer.breathe()
    const page = slots.slice(start, start + pageSize)
    const uids = page.map((slot) => /** @type {number} */ (view.uids[slot]))
    let bytes = 0
    const records = await store.readMessages(view.mailboxId, uids, needs)
    for (const { envelope, references } of records)
      bytes += (envelope?.length ?? 0) + REFERENCE_BYTES * (references?.length ?? 0)
    yield records.map((record) => ({ slot: view.slotOf(record.uid), record }))
    start += page.length
    pageSize = nextPageSize(pageSize, bytes, maxSize)
  }
}

/**
 * @param {MessageRecord} record - read with `search` or `order`
 * @returns {number} the sent date of RFC 5256 §2.2, seconds
 */
export function sentSeconds({ sentDate, internalDate }) {
  return (sentDate ?? internalDate).epochSeconds
}
