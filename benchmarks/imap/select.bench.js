/**
 * How long does SELECT of a large mailbox take on a fresh connection?
 */
import { require } from '../lib/question.js'
import { imapContenders, openSession, repeat } from './session.js'
import { BIG } from './set-up.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'select',
  title: 'SELECT on a fresh connection',
  notes:
    'A new connection and login for each sample, which are not in the time. Checked: EXISTS is the number of messages.',
  warmUp: 'as many as are timed',
  lines: [{ id: 'select', label: 'SELECT', unit: 'ms', better: 'lower' }],
  contenders: imapContenders,
  async measure(run) {
    const { messages, isQuick } = run.options
    const select = async () => {
      const client = await openSession(run, { mailbox: null })
      const { bytes, ms } = await client.run(`SELECT ${BIG}`)
      require(bytes.includes(`* ${messages} EXISTS\r\n`), 'EXISTS is the number of messages')
      client.close()
      return ms
    }
    const most = isQuick ? 3 : 100
    await repeat(most, select)
    return { samples: { select: await repeat(most, select) } }
  }
}
