/**
 * How much memory does an open mailbox cost the server?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../lib/process-tree.js'
import { imapContenders, imapContext, openSession, requireFetches, serverOf } from './session.js'
import { BIG } from './set-up.js'

const SETTLE_MS = 3000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'mailbox-memory',
  title: 'Memory of an open mailbox',
  notes:
    'What the server’s processes take more (PSS) with one session on plain TCP for each mailbox, which has selected it and read its flags. Each of the small ones has an INBOX of what other questions have left in it. Checked: the flag scan gives every message.',
  warmUp: 'none: the server was started a moment before',
  lines: [
    {
      id: 'small',
      label: 'an account with a small INBOX, session included',
      unit: 'bytes',
      better: 'lower'
    },
    { id: 'big', label: 'the large mailbox, session included', unit: 'bytes', better: 'lower' }
  ],
  needsFreshStart: true,
  contenders: imapContenders,
  rounds: ({ rounds }) => Math.min(rounds, 2),
  async measure(run) {
    const { isQuick, messages } = run.options
    const { pid } = serverOf(run)
    const settle = () => sleep(isQuick ? 300 : SETTLE_MS)
    const users = Math.min(isQuick ? 8 : 100, imapContext(run.context).users - 1)
    await settle()
    const before = memoryOf(pid)
    const sessions = []
    for (let index = 0; index < users; index++) {
      const client = await openSession(run, { user: `u${index + 2}`, mailbox: 'INBOX' })
      await client.run('UID FETCH 1:* (FLAGS)')
      sessions.push(client)
    }
    await settle()
    const between = memoryOf(pid)
    const client = await openSession(run, { mailbox: BIG })
    const { bytes } = await client.run('UID FETCH 1:* (FLAGS)')
    requireFetches(bytes, messages)
    await settle()
    const after = memoryOf(pid)
    for (const session of [...sessions, client]) session.close()
    return { samples: { small: [(between - before) / users], big: [after - between] } }
  }
}
