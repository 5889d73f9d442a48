/**
 * How much memory does an idle session cost the server?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../lib/process-tree.js'
import { imapContenders, imapContext, openSession, serverOf } from './session.js'

/** The server is left alone for so many ms before its memory is read. */
const SETTLE_MS = 5000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'idle-memory',
  title: 'Memory of an idle session',
  notes:
    'Sessions are logged in, have selected INBOX and are in IDLE, spread over 50 users (quick: as many as there are); what the server’s processes take more (PSS, shared pages once), divided by the sessions. A first session of each user is there before, so that the open mailbox is not counted. Checked: every session is still there at the end and answers to DONE.',
  warmUp: 'one session of each user, which is not counted',
  lines: [
    { id: 'plain', label: 'plain TCP', unit: 'bytes', better: 'lower' },
    {
      id: 'tls',
      label: 'TLS',
      unit: 'bytes',
      better: 'lower',
      reference: 'floor of a bare Node TLS socket: 35 kB'
    }
  ],
  needsFreshStart: true,
  contenders: imapContenders,
  rounds: ({ rounds }) => Math.min(rounds, 2),
  async measure(run) {
    const plain = await memoryOfSessions(run, false)
    const tls = await memoryOfSessions(run, true)
    const count = sessionCount(run)
    return { samples: { plain: [plain], tls: [tls] }, facts: { sessions: count } }
  }
}

/** @param {import('../lib/question.js').Run} run */
const sessionCount = ({ options }) => (options.isQuick ? 30 : 1000)

/**
 * @param {import('../lib/question.js').Run} run
 * @param {boolean} isTls
 * @returns {Promise<number>} bytes a session
 */
async function memoryOfSessions(run, isTls) {
  const { isQuick } = run.options
  const users = Math.min(50, imapContext(run.context).users)
  const { pid } = serverOf(run)
  const open = async (/** @type {number} */ index) => {
    const client = await openSession(run, {
      user: `u${1 + (index % users)}`,
      mailbox: 'INBOX',
      isTls
    })
    client.write('i IDLE\r\n')
    await client.waitFor((tail) => /^\+/m.test(tail))
    return client
  }
  const sessions = []
  for (let index = 0; index < users; index++) sessions.push(await open(index))
  await sleep(isQuick ? 500 : SETTLE_MS)
  const before = memoryOf(pid)
  const count = sessionCount(run)
  for (let index = 0; index < count; index++) {
    sessions.push(await open(index))
    run.progress(index, count)
  }
  await sleep(isQuick ? 500 : SETTLE_MS)
  const bytes = (memoryOf(pid) - before) / count
  for (const client of sessions) {
    client.write('DONE\r\n')
    await client.waitFor((tail) => /^i OK /m.test(tail))
    client.close()
  }
  return bytes
}
