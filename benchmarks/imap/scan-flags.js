/**
 * The plain flag scan, and what is checked of its answer.
 */
import { countOf } from '../lib/imap-client.js'
import { flaggedCount } from '../lib/mail.js'
import { require, requireEqual } from '../lib/question.js'
import { requireFetches } from './session.js'

/** For the notes of a question. */
export const SCAN_CHECKS =
  'Checked: one answer for each message, UIDs ascending, as many \\Flagged as were planted.'

/**
 * @param {import('../lib/imap-client.js').ImapClient} client - that has selected the large mailbox, or a copy
 * @param {number} messages - in it
 * @returns {Promise<number>} from the first byte of the command to the tagged OK, ms
 */
export async function scanFlags(client, messages) {
  const { bytes, ms } = await client.run('UID FETCH 1:* (FLAGS)')
  requireFetches(bytes, messages)
  requireEqual(countOf(bytes, '\\Flagged'), flaggedCount(messages), 'messages with \\Flagged')
  const uids = [...bytes.toString('latin1').matchAll(/UID (\d+)/g)].map(([, uid]) => Number(uid))
  require(uids.every((uid, index) => index === 0 || uid > Number(uids[index - 1])), 'UIDs ascend')
  return ms
}
