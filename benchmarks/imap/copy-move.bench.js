/**
 * How long does it take to copy and to move a thousand messages?
 */
import { MailGenerator } from '../lib/mail.js'
import { requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { requireBody } from './checks.js'
import { imapContenders, messageCount, openSession, remake, repeat } from './session.js'

const [COPIES, MOVED] = ['copies', 'moved']

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'copy-move',
  title: 'COPY and MOVE of 1,000 messages',
  notes:
    'From the large mailbox to an empty one, then from there to another (quick: 100). Durable when the OK comes. Checked: the number of messages on both sides, and one that was moved byte for byte.',
  warmUp: 'one copy and move that are not counted',
  lines: [
    { id: 'copy', label: 'COPY', unit: 'ms', better: 'lower' },
    { id: 'move', label: 'MOVE', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { isQuick, seed } = run.options
    const random = new Random(seed + run.round)
    const generator = new MailGenerator(seed)
    const count = isQuick ? 100 : 1000
    const client = await openSession(run)
    const mover = await openSession(run, { mailbox: null })
    /** @type {number[]} */
    const move = []
    const once = async () => {
      for (const mailbox of [COPIES, MOVED]) await remake(mover, mailbox)
      const copied = await client.run(`COPY 1:${count} ${COPIES}`)
      requireEqual(await messageCount(mover, COPIES), count, 'messages copied')
      await mover.run(`SELECT ${COPIES}`)
      const { ms } = await mover.run(`MOVE 1:${count} ${MOVED}`)
      requireEqual(await messageCount(client, COPIES), 0, 'messages left behind')
      requireEqual(await messageCount(client, MOVED), count, 'messages moved')
      await mover.run(`SELECT ${MOVED}`)
      const number = 1 + random.below(count)
      const { bytes } = await mover.run(`FETCH ${number} BODY.PEEK[]`)
      requireBody(bytes, generator.mailOf(number - 1), `message ${number}`)
      await mover.run('UNSELECT')
      move.push(ms)
      return copied.ms
    }
    await once()
    const copy = await repeat(isQuick ? 2 : 6, once)
    client.close()
    mover.close()
    return { samples: { copy, move: move.slice(1) } }
  }
}
