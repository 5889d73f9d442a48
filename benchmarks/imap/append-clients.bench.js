/**
 * How many messages a second do many users put into their mailboxes at once?
 */
import { appendArguments } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, requireEqual } from '../lib/question.js'
import { requireBody } from './checks.js'
import {
  imapContenders,
  imapContext,
  messageCount,
  openSession,
  remake,
  serverOf
} from './session.js'
import { untilQuiet, untilRested } from './set-up.js'

const MAILBOX = 'appended'
/** The generator's messages from this one on are appended: the large mailbox has none of them. */
const FIRST_MAIL = 2_000_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'append-clients',
  title: 'APPEND by many users at once',
  notes:
    'Each client has a user and a connection of its own and appends one message after the other; durable when the OK comes. The rate is of all clients together, a sample is one APPEND. Checked: the number of messages in each mailbox, and the last of each byte for byte.',
  warmUp:
    'what the round before has left is deleted, and the server idle again; then as many messages of each client as are timed, before the clock starts, so that code is compiled in each of several workers too; the next server begins when this one rests',
  lines: [
    { id: 'eight', label: '8 users', unit: 'ms', better: 'lower' },
    { id: 'fifty', label: '50 users', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { isQuick } = run.options
    const eight = await appendFrom(run, 8, isQuick ? 4 : 200)
    const fifty = await appendFrom(run, 50, isQuick ? 2 : 60)
    await untilRested(serverOf(run).pid, run.options)
    return {
      samples: { eight: eight.samples, fifty: fifty.samples },
      rates: { eight: eight.rate, fifty: fifty.rate }
    }
  }
}

/**
 * @param {import('../lib/question.js').Run} run
 * @param {number} wanted - clients; no more than there are users
 * @param {number} each - messages of each client, and as many before the clock starts
 */
async function appendFrom(run, wanted, each) {
  const clients = Math.min(wanted, imapContext(run.context).users - 1)
  const generator = new MailGenerator(run.options.seed)
  const mails = Array.from({ length: clients * 2 * each }, (_, index) =>
    generator.mailOf(FIRST_MAIL + index)
  )
  const sessions = await Promise.all(
    Array.from({ length: clients }, (_, index) =>
      openSession(run, { user: `u${index + 2}`, mailbox: null })
    )
  )
  /** @type {number[]} */
  const samples = []
  /** @type {Map<(typeof sessions)[number], import('../lib/mail.js').Mail>} */
  const last = new Map()
  const appendNext = async (/** @type {(typeof sessions)[number]} */ client) => {
    const mail = /** @type {import('../lib/mail.js').Mail} */ (mails.pop())
    last.set(client, mail)
    return (await client.run([`APPEND ${MAILBOX}`, ...appendArguments(mail)])).ms
  }
  await Promise.all(sessions.map((client) => remake(client, MAILBOX)))
  await untilQuiet(serverOf(run).pid)
  await Promise.all(
    sessions.map(async (client) => {
      for (let count = 0; count < each; count++) await appendNext(client)
    })
  )
  const start = now()
  await Promise.all(
    sessions.map(async (client) => {
      for (let count = 0; count < each; count++) samples.push(await appendNext(client))
    })
  )
  const rate = (1000 * samples.length) / (now() - start)
  for (const client of sessions) {
    requireEqual(await messageCount(client, MAILBOX), 2 * each, 'messages of a user')
    await client.run(`SELECT ${MAILBOX}`)
    const { bytes } = await client.run('FETCH * BODY.PEEK[]')
    requireBody(bytes, last.get(client), 'the last message of a user')
    client.close()
  }
  return { samples, rate }
}
