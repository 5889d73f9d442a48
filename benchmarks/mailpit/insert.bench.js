/**
 * How long does it take to put in 100 messages when 100,000 are there?
 */
import { appendArguments } from '../lib/imap-client.js'
import { messageCount, openSession } from '../imap/session.js'
import { BIG } from '../imap/set-up.js'
import { MailGenerator } from '../lib/mail.js'
import { now, requireEqual } from '../lib/question.js'
import { isPlain, mailpitContenders, openPlain } from './set-up.js'

const INSERTED = 100
const FIRST = 6_000_000
const WARM_UP = 5
const EACH_ROUND = INSERTED + WARM_UP

/**
 * @param {number} place - in the mailbox, from 0, among those that this question has put in
 * @returns {number} the message's number in the generator
 */
export const insertedIndex = (place) =>
  FIRST + Math.floor(place / EACH_ROUND) * 1000 + (place % EACH_ROUND)

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'insert',
  title: 'Insert 100 messages, durable, one by one',
  notes:
    'Each message is acknowledged, and on the disk, before the next is sent; parsing, compression and what searches need are part of the time. Checked: the number of messages. (These stay: the other questions know.)',
  warmUp: 'five messages before the clock starts',
  lines: [
    {
      id: 'hundred',
      label: '100 messages',
      unit: 'ms',
      better: 'lower',
      reference: 'key-value store 500 ms, SQLite 1,500 ms'
    },
    { id: 'one', label: 'one message', unit: 'ms', better: 'lower' }
  ],
  contenders: mailpitContenders,
  async measure(run) {
    const generator = new MailGenerator(run.options.seed)
    const mails = Array.from({ length: EACH_ROUND }, (_, index) =>
      generator.mailOf(insertedIndex(run.round * EACH_ROUND + index))
    )
    const { insert, count, close } = await target(run)
    const before = await count()
    const one = []
    for (const mail of mails) {
      const start = now()
      await insert(mail)
      one.push(now() - start)
    }
    requireEqual(await count(), before + mails.length, 'messages')
    close()
    const timed = one.slice(WARM_UP)
    return { samples: { one: timed, hundred: [timed.reduce((sum, ms) => sum + ms, 0)] } }
  }
}

/** @param {import('../lib/question.js').Run} run */
async function target(run) {
  if (isPlain(run)) {
    const mailbox = openPlain(run)
    return {
      insert: async (/** @type {import('../lib/mail.js').Mail} */ mail) => mailbox.add([mail]),
      count: async () => mailbox.counts().total,
      close: () => mailbox.close()
    }
  }
  const client = await openSession(run, { mailbox: null })
  return {
    insert: async (/** @type {import('../lib/mail.js').Mail} */ mail) => {
      await client.run([`APPEND ${BIG}`, ...appendArguments(mail)])
    },
    count: () => messageCount(client, BIG),
    close: () => client.close()
  }
}
