/**
 * How long does the plain flag scan of a large mailbox take, which many clients do at each start?
 */
import { countOf } from '../lib/imap-client.js'
import { flaggedCount } from '../lib/mail.js'
import { readIntoPageCache } from '../lib/page-cache.js'
import { require, requireEqual } from '../lib/question.js'
import { imapContenders, openSession, repeat, requireFetches, serverOf } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'flag-scan',
  title: 'UID FETCH 1:* (FLAGS)',
  notes:
    'The time from the first byte of the command to the tagged OK, as the client sees it. Checked: one answer for each message, UIDs ascending, as many \\Flagged as were planted.',
  warmUp:
    'none for "first": the server was started a moment before, and the mailbox has only been selected; then one that is not counted. The server’s files are read once before, so that neither disk is measured',
  lines: [
    { id: 'first', label: 'first after the start of the server', unit: 'ms', better: 'lower' },
    { id: 'warm', label: 'again', unit: 'ms', better: 'lower' }
  ],
  needsFreshStart: true,
  contenders: imapContenders,
  async measure(run) {
    const { messages, isQuick } = run.options
    readIntoPageCache(serverOf(run).folder)
    const client = await openSession(run)
    const scan = async () => {
      const { bytes, ms } = await client.run('UID FETCH 1:* (FLAGS)')
      requireFetches(bytes, messages)
      requireEqual(countOf(bytes, '\\Flagged'), flaggedCount(messages), 'messages with \\Flagged')
      const uids = [...bytes.toString('latin1').matchAll(/UID (\d+)/g)].map(([, uid]) =>
        Number(uid)
      )
      require(uids.every(
        (uid, index) => index === 0 || uid > Number(uids[index - 1])
      ), 'UIDs ascend')
      return ms
    }
    const first = await scan()
    const warm = await repeat(isQuick ? 3 : 10, scan)
    client.close()
    return { samples: { first: [first], warm } }
  }
}
