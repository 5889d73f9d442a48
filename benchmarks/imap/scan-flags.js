/**
 * The plain flag scan, and the checks of its answer.
 */
import { countOf } from '../lib/imap-client.js'
import { MailGenerator, flaggedCount } from '../lib/mail.js'
import { require, requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { hasFlags, requireRight, someOf } from './checks.js'
import { requireFetches } from './session.js'

/** For the notes of a question. */
export const SCAN_CHECKS =
  'Checked: one answer for each message, UIDs ascending, as many \\Flagged as were planted, and \\Seen and \\Flagged of fifty at random.'

/**
 * @param {import('./session.js').RunOptions} options
 * @returns {(client: import('../lib/imap-client.js').ImapClient) => Promise<number>} for a client that has selected the
 *   large mailbox, or a copy: the time from the first byte of the command to the tagged OK, ms
 */
export function flagScanner({ messages, seed }) {
  const random = new Random(seed)
  const generator = new MailGenerator(seed)
  const mailOf = (/** @type {number} */ number) => generator.mailOf(number - 1)
  return async (client) => {
    const { bytes, ms } = await client.run('UID FETCH 1:* (FLAGS)')
    requireFetches(bytes, messages)
    requireEqual(countOf(bytes, '\\Flagged'), flaggedCount(messages), 'messages with \\Flagged')
    const uids = [...bytes.toString('latin1').matchAll(/UID (\d+)/g)].map(([, uid]) => Number(uid))
    require(uids.every((uid, index) => index === 0 || uid > Number(uids[index - 1])), 'UIDs ascend')
    requireRight(bytes, someOf(random, messages), mailOf, hasFlags, 'flags')
    return ms
  }
}
