/**
 * How fast does one user put messages into a mailbox: one by one, in a pipeline, and with MULTIAPPEND?
 */
import { appendArguments } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, require, requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { requireBody } from './checks.js'
import { imapContenders, messageCount, openSession, remake, serverOf } from './session.js'
import { untilRested } from './set-up.js'

const MAILBOX = 'appended'
/** One MULTIAPPEND has so many messages. */
const BATCH = 100
/** The generator's messages from this one on are appended: the large mailbox has none of them. */
const FIRST_MAIL = 1_000_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'append',
  title: 'APPEND by one user',
  notes: `Durable when the tagged OK comes, for both. Pipelined: all commands are sent at once. MULTIAPPEND: ${BATCH} messages a command; a sample is a message’s share. Literals are non-synchronising. Checked: the number of messages, and twenty of them byte for byte.`,
  warmUp:
    'as many messages, one by one, as are timed so, before the clock starts; the next server begins when this one rests',
  lines: [
    { id: 'single', label: 'one by one', unit: 'ms', better: 'lower' },
    { id: 'pipelined', label: 'pipelined', unit: 'ms', better: 'lower' },
    { id: 'multi', label: 'MULTIAPPEND', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { isQuick, seed } = run.options
    const count = isQuick ? 20 : 500
    const total = 3 * count + (isQuick ? 2 : 10) * BATCH
    const generator = new MailGenerator(seed)
    const mails = Array.from({ length: total }, (_, index) => generator.mailOf(FIRST_MAIL + index))
    const client = await openSession(run, { mailbox: null })
    await remake(client, MAILBOX)
    let used = 0
    const next = (/** @type {number} */ size) => mails.slice(used, (used += size))
    const append = (/** @type {import('../lib/mail.js').Mail} */ mail) => [
      `APPEND ${MAILBOX}`,
      ...appendArguments(mail)
    ]
    for (const mail of next(count)) await client.run(append(mail))

    const single = []
    const start = now()
    for (const mail of next(count)) single.push((await client.run(append(mail))).ms)
    const singleMs = now() - start
    const pipelined = await client.pipeline(next(count).map(append))
    const refused = pipelined.bytes
      .toString('latin1')
      .split('\r\n')
      .filter((line) => / (NO|BAD) /.test(line))
    require(refused.length === 0, `every APPEND is taken: ${refused[0]}`)
    const multi = []
    for (let batches = isQuick ? 2 : 10; batches > 0; batches--) {
      const batch = next(BATCH)
      const { ms } = await client.run([`APPEND ${MAILBOX}`, ...batch.flatMap(appendArguments)])
      multi.push(ms / batch.length)
    }

    requireEqual(await messageCount(client, MAILBOX), total, 'messages in the mailbox')
    await client.run(`SELECT ${MAILBOX}`)
    const random = new Random(seed)
    for (let check = 0; check < 20; check++) {
      const at = random.below(total)
      const { bytes } = await client.run(`FETCH ${at + 1} BODY.PEEK[]`)
      requireBody(bytes, mails[at], `message ${at + 1}`)
    }
    client.close()
    await untilRested(serverOf(run).pid, run.options)
    return {
      samples: { single, pipelined: [pipelined.ms / count], multi },
      rates: {
        single: (1000 * count) / singleMs,
        pipelined: (1000 * count) / pipelined.ms,
        multi: (1000 * multi.length) / multi.reduce((sum, ms) => sum + ms, 0)
      }
    }
  }
}
