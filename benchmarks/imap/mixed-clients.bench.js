/**
 * How many operations a second do many clients get who do what mail clients do all day?
 */
import { appendArguments, countOf } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, require } from '../lib/question.js'
import { Random, seedFor } from '../lib/random.js'
import { requireBody } from './checks.js'
import { imapContenders, imapContext, openSession, serverOf } from './session.js'
import { untilQuiet, untilRested } from './set-up.js'

const MAILBOX = 'mixed'
/** Each user's mailbox has so many messages at first. */
const FILLED_MESSAGES = 200
/** The generator's messages from this one on are used. */
const FIRST_MAIL = 4_000_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'mixed-clients',
  title: 'Many clients, mixed work',
  notes: `Every client has a connection and, as far as there are users, a user of its own, and asks without a pause: 40 % a message, 20 % the flags of all ${FILLED_MESSAGES}, 15 % STORE one flag, 10 % NOOP, 10 % STATUS, 5 % APPEND. A sample is one command; the rate is of all clients together. Checked: every answer is OK; every tenth message byte for byte, every tenth scan has all, every tenth STATUS what was asked for.`,
  warmUp:
    'until the server rests after the fill (a search index), then a tenth of the time before the clock starts; the next server begins when this one rests',
  lines: [
    { id: 'fifty', label: '50 clients', unit: 'ms', better: 'lower' },
    { id: 'twoHundred', label: '200 clients', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  rounds: ({ rounds }) => Math.min(rounds, 3),
  async prepare(run) {
    const generator = new MailGenerator(run.options.seed)
    const mails = Array.from({ length: FILLED_MESSAGES }, (_, index) =>
      generator.mailOf(FIRST_MAIL + index)
    )
    const users = Math.min(200, imapContext(run.context).users)
    for (let user = 1; user <= users; user++) {
      const client = await openSession(run, { user: `u${user}`, mailbox: null })
      await client.pipeline([`DELETE ${MAILBOX}`])
      await client.run(`CREATE ${MAILBOX}`)
      await client.run([`APPEND ${MAILBOX}`, ...mails.flatMap(appendArguments)])
      client.close()
      run.progress(user, users)
    }
    await untilQuiet(serverOf(run).pid)
    return {}
  },
  async measure(run) {
    const ms = run.options.isQuick ? 500 : 15_000
    const fifty = await clientsAtWork(run, 50, ms)
    const twoHundred = await clientsAtWork(run, 200, ms)
    await untilRested(serverOf(run).pid, run.options)
    return {
      samples: { fifty: fifty.samples, twoHundred: twoHundred.samples },
      rates: { fifty: fifty.rate, twoHundred: twoHundred.rate }
    }
  }
}

/**
 * @param {import('../lib/question.js').Run} run
 * @param {number} wanted
 * @param {number} ms
 */
async function clientsAtWork(run, wanted, ms) {
  const { users } = imapContext(run.context)
  const { seed, isQuick } = run.options
  const count = isQuick ? Math.min(wanted, 20) : wanted
  const sessions = []
  for (let index = 0; index < count; index++) {
    sessions.push(await openSession(run, { user: `u${1 + (index % users)}`, mailbox: MAILBOX }))
  }
  const generator = new MailGenerator(seed)
  const start = now() + ms / 10
  const end = start + ms
  /** @type {number[]} */
  const samples = []
  await Promise.all(
    sessions.map(async (client, number) => {
      const random = new Random(seedFor(seed + run.round, number))
      while (now() < end) {
        const startedAt = now()
        const took = await operate(client, random, generator)
        if (startedAt >= start) samples.push(took)
      }
    })
  )
  const rate = (1000 * samples.length) / (now() - start)
  for (const client of sessions) client.close()
  return { samples, rate }
}

/**
 * @param {import('../lib/imap-client.js').ImapClient} client
 * @param {Random} random
 * @param {MailGenerator} generator
 * @returns {Promise<number>} milliseconds
 */
async function operate(client, random, generator) {
  const kind = random.below(100)
  const number = 1 + random.below(FILLED_MESSAGES)
  const isChecked = random.below(10) === 0
  if (kind < 40) {
    const { bytes, ms } = await client.run(`FETCH ${number} BODY.PEEK[]`)
    if (isChecked)
      requireBody(bytes, generator.mailOf(FIRST_MAIL + number - 1), `message ${number}`)
    return ms
  }
  if (kind < 60) {
    const { bytes, ms } = await client.run(`FETCH 1:${FILLED_MESSAGES} (UID FLAGS)`)
    // At least: other clients may have the mailbox too, and their changes are announced besides.
    if (isChecked) require(countOf(bytes, ' FETCH (') >= FILLED_MESSAGES, 'the flags of all')
    return ms
  }
  if (kind < 75) {
    const sign = random.below(2) === 0 ? '+' : '-'
    return (await client.run(`STORE ${number} ${sign}FLAGS (\\Flagged)`)).ms
  }
  if (kind < 85) return (await client.run('NOOP')).ms
  if (kind < 95) {
    const { bytes, ms } = await client.run('STATUS INBOX (MESSAGES UNSEEN UIDNEXT)')
    if (isChecked)
      for (const item of ['MESSAGES ', 'UNSEEN ', 'UIDNEXT '])
        require(bytes.includes(item), `${item}of INBOX`)
    return ms
  }
  const mail = generator.mailOf(FIRST_MAIL + FILLED_MESSAGES + random.below(500))
  return (await client.run(['APPEND INBOX', ...appendArguments(mail)])).ms
}
