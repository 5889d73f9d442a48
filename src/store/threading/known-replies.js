/**
 * Which messages have the subject of a reply or of a forwarded message. What was asked is kept with the view, by slot: reading
 * the subjects of the messages of many threads takes as long as threading them.
 */
import { isReplyOrForward } from '../../mime/base-subject.js'
import { envelopeSubject } from '../../mime/envelope-reader.js'
import { grown } from '../../support/grown.js'
import { filterInSlices } from '../../support/slicer.js'
import { readEnvelopes } from '../sort/read-envelopes.js'

/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** What is kept of a slot; 0: nothing is known. */
const OTHER = 1
const REPLY = 2

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<(slot: number) => boolean>} for these; false for one that has gone meanwhile
 */
export async function knownReplies(source, slots, slicer) {
  const { view } = source
  const missing = await filterInSlices(slots, (slot) => !repliesOf(view)[slot], slicer)
  const keep = (/** @type {number} */ slot, /** @type {Buffer} */ envelope) => {
    // The array is looked up each time: it is replaced when the view grows.
    repliesOf(view)[slot] = isReplyOrForward(envelopeSubject(envelope)) ? REPLY : OTHER
  }
  await readEnvelopes(source, missing, keep, slicer)
  return (slot) => repliesOf(view)[slot] === REPLY
}

/**
 * @param {MailboxView} view
 * @returns {Uint8Array} with room for each slot
 */
function repliesOf(view) {
  const known = /** @type {Uint8Array | undefined} */ (view.sortColumns.get('REPLY'))
  const capacity = view.uids.length
  if (known?.length === capacity) return known
  const replies = new Uint8Array(capacity)
  if (known) grown(known, replies)
  view.sortColumns.set('REPLY', replies)
  return replies
}
