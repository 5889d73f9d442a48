/**
 * The same messages in Letterlock, reached over IMAP, and in plain SQLite, reached in the process itself.
 */
import { join } from 'node:path'
import { setUpServers } from '../imap/set-up.js'
import { MailGenerator } from '../lib/mail.js'
import { PLAIN_SETTINGS, PlainMailbox } from '../lib/plain-mailbox.js'

/** @typedef {import('../lib/question.js').Run} Run */

const FILL_BATCH = 1000

/**
 * @param {import('../lib/question.js').RunOptions} options
 * @param {string} scratch
 * @param {(text: string) => void} tell
 * @returns {Promise<import('../lib/question.js').PartSetup>}
 */
export async function setUpMailpit(options, scratch, tell) {
  const { messages, seed } = options
  tell(`filling plain SQLite with ${messages} messages`)
  const plainPath = join(scratch, 'plain.db')
  const mailbox = new PlainMailbox(plainPath, { hasText: true })
  const generator = new MailGenerator(seed)
  for (let from = 0; from < messages; from += FILL_BATCH) {
    const size = Math.min(FILL_BATCH, messages - from)
    mailbox.add(Array.from({ length: size }, (_, index) => generator.mailOf(from + index)))
  }
  mailbox.close()
  const servers = await setUpServers({ ...options, withDovecot: false }, scratch, tell, {
    users: 1
  })
  const { dovecot: _, ...environment } = servers.environment
  return { ...servers, environment, context: Object.assign(servers.context, { plainPath }) }
}

/** @returns {import('../lib/question.js').Contender[]} */
export const mailpitContenders = () => [
  {
    id: 'letterlock',
    label: 'Letterlock, over IMAP',
    isPeer: false,
    settings: { storage: 'default: chacha20, secure_delete on', durable: 'every acknowledgement' }
  },
  { id: 'plain', label: 'better-sqlite3 in the process', isPeer: true, settings: PLAIN_SETTINGS }
]

/** @param {Run} run */
export const isPlain = ({ contender }) => contender.id === 'plain'

/** @param {Run} run */
export const openPlain = ({ context }) =>
  new PlainMailbox(String(context['plainPath']), { hasText: true })
