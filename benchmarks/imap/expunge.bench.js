/**
 * How long does it take to expunge many messages?
 */
import { countOf } from '../lib/imap-client.js'
import { requireEqual } from '../lib/question.js'
import { imapContenders, messageCount, openSession, remake, repeat } from './session.js'

const MAILBOX = 'to-expunge'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'expunge',
  title: 'EXPUNGE',
  notes:
    'Copies of messages of the large mailbox, marked \\Deleted before the clock starts; 10,000 or as many as there are. Checked: an answer for each, and an empty mailbox.',
  warmUp: 'one expunge of 1,000 that is not counted; each has new messages',
  lines: [
    { id: 'thousand', label: '1,000 messages (quick: 100)', unit: 'ms', better: 'lower' },
    { id: 'many', label: '10,000 messages (quick: all)', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { isQuick, messages } = run.options
    const thousand = () => expunge(run, Math.min(messages, isQuick ? 100 : 1000))
    await thousand()
    const samples = await repeat(isQuick ? 2 : 6, thousand)
    const many = await expunge(run, Math.min(messages, 10_000))
    return { samples: { thousand: samples, many: [many] } }
  }
}

/**
 * @param {import('../lib/question.js').Run} run
 * @param {number} count
 * @returns {Promise<number>} milliseconds
 */
async function expunge(run, count) {
  const client = await openSession(run)
  await remake(client, MAILBOX)
  await client.run(`COPY 1:${count} ${MAILBOX}`)
  await client.run(`SELECT ${MAILBOX}`)
  await client.run('STORE 1:* +FLAGS.SILENT (\\Deleted)')
  const { bytes, ms } = await client.run('EXPUNGE')
  requireEqual(countOf(bytes, ' EXPUNGE\r\n'), count, 'messages that are told to be gone')
  requireEqual(await messageCount(client, MAILBOX), 0, 'messages left')
  client.close()
  return ms
}
