/**
 * How long does the plain flag scan of a large mailbox take, which many clients do at each start?
 */
import { readIntoPageCache } from '../lib/page-cache.js'
import { SCAN_CHECKS, flagScanner } from './scan-flags.js'
import { imapContenders, openSession, repeat, serverOf } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'flag-scan',
  title: 'UID FETCH 1:* (FLAGS)',
  notes: `The time from the first byte of the command to the tagged OK, as the client sees it. ${SCAN_CHECKS}`,
  warmUp:
    'none for "first": the server was started a moment before, and the mailbox has only been selected; then one that is not counted. The server’s files are read once before, so that neither disk is measured',
  lines: [
    { id: 'first', label: 'first after the start of the server', unit: 'ms', better: 'lower' },
    { id: 'warm', label: 'again', unit: 'ms', better: 'lower' }
  ],
  needsFreshStart: true,
  contenders: imapContenders,
  async measure(run) {
    const scanFlags = flagScanner(run.options)
    readIntoPageCache(serverOf(run).folder)
    const client = await openSession(run)
    const scan = () => scanFlags(client)
    const first = await scan()
    const warm = await repeat(run.options.isQuick ? 3 : 10, scan)
    client.close()
    return { samples: { first: [first], warm } }
  }
}
