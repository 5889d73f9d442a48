/**
 * How long does it take to show the newest page of a mailbox of 100,000?
 */
import { openSession, repeat, requireFetches } from '../imap/session.js'
import { BIG } from '../imap/set-up.js'
import { requireEqual, timed } from '../lib/question.js'
import { isPlain, mailpitContenders, openPlain } from './set-up.js'

const PAGE = 50

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'list',
  title: 'Load the message index',
  notes: `The newest ${PAGE}: flags, date, size and ENVELOPE. "Opened for it": with SELECT on a new connection (login not in the time), or with opening the file. Checked: ${PAGE} answers.`,
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
    if (isPlain(run)) {
      const page = (/** @type {import('../lib/plain-mailbox.js').PlainMailbox} */ mailbox) =>
        timed(() => requireEqual(mailbox.newest(PAGE).length, PAGE, 'messages of the page'))
      const mailbox = openPlain(run)
      page(mailbox)
      const samples = await repeat(most, async () => page(mailbox))
      mailbox.close()
      const opened = await repeat(most, async () => {
        let other = mailbox
        const ms = timed(() => {
          other = openPlain(run)
          page(other)
        })
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
