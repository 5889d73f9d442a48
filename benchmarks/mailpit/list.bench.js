/**
 * How long does it take to show the newest page of a mailbox of 100,000?
 */
import { hasEnvelope, hasSize, requireRight } from '../imap/checks.js'
import { openSession, repeat, requireFetches } from '../imap/session.js'
import { BIG } from '../imap/set-up.js'
import { MailGenerator } from '../lib/mail.js'
import { now, requireEqual } from '../lib/question.js'
import { insertedIndex } from './insert.bench.js'
import { isPlain, mailpitContenders, openPlain } from './set-up.js'

const PAGE = 50

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'list',
  title: 'Load the message index',
  notes: `The newest ${PAGE}: flags, date, size and ENVELOPE. "Opened for it": with SELECT on a new connection (login not in the time), or with opening the file. Checked: ${PAGE} answers, and that they are the newest (size, and ENVELOPE where there is one).`,
  warmUp: 'one that is not counted',
  lines: [
    {
      id: 'page',
      label: 'newest 50',
      unit: 'ms',
      better: 'lower',
      reference: 'key-value store 9 ms, SQLite 21 ms'
    },
    { id: 'opened', label: 'newest 50, mailbox opened for it', unit: 'ms', better: 'lower' }
  ],
  contenders: mailpitContenders,
  async measure(run) {
    const most = run.options.isQuick ? 3 : 30
    const { messages, seed } = run.options
    const generator = new MailGenerator(seed)
    const mailOf = (/** @type {number} */ number) =>
      generator.mailOf(number > messages ? insertedIndex(number - messages - 1) : number - 1)
    if (isPlain(run)) {
      const page = (/** @type {import('../lib/plain-mailbox.js').PlainMailbox} */ mailbox) => {
        const start = now()
        const newest = mailbox.newest(PAGE)
        const ms = now() - start
        requireEqual(newest.length, PAGE, 'messages of the page')
        for (const { id, size } of newest)
          requireEqual(size, mailOf(id).bytes.length, `size of message ${id}`)
        requireEqual(newest[0]?.id, mailbox.counts().total, 'the newest')
        return ms
      }
      const mailbox = openPlain(run)
      page(mailbox)
      const samples = await repeat(most, async () => page(mailbox))
      mailbox.close()
      const opened = await repeat(most, async () => {
        const start = now()
        const other = openPlain(run)
        const opening = now() - start
        const ms = opening + page(other)
        other.close()
        return ms
      })
      return { samples: { page: samples, opened } }
    }
    const open = async () => {
      const client = await openSession(run, { mailbox: null })
      const { bytes, ms } = await client.run(`SELECT ${BIG}`)
      const exists = Number(/\* (\d+) EXISTS/.exec(bytes.toString('latin1'))?.[1])
      const page = async () => {
        const answer = await client.run(
          `FETCH ${exists - PAGE + 1}:${exists} (UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)`
        )
        requireFetches(answer.bytes, PAGE)
        const numbers = Array.from({ length: PAGE }, (_, index) => exists - index)
        requireRight(answer.bytes, numbers, mailOf, hasSize, 'size')
        requireRight(answer.bytes, numbers, mailOf, hasEnvelope, 'ENVELOPE')
        return answer.ms
      }
      return { client, page, selectMs: ms }
    }
    const { client, page } = await open()
    await page()
    const samples = await repeat(most, page)
    client.close()
    const opened = await repeat(most, async () => {
      const other = await open()
      const ms = other.selectMs + (await other.page())
      other.client.close()
      return ms
    })
    return { samples: { page: samples, opened } }
  }
}
