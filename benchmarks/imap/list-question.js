/**
 * The questions that fetch something small of every message differ only in what they fetch.
 */
import { countOf } from '../lib/imap-client.js'
import { MailGenerator, plantedCount } from '../lib/mail.js'
import { readIntoPageCache } from '../lib/page-cache.js'
import { require } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { requireRight, someOf } from './checks.js'
import { imapContenders, openSession, repeat, requireFetches, serverOf } from './session.js'

/**
 * @param {object} facts
 * @param {string} facts.id
 * @param {string} facts.title
 * @param {string} facts.command
 * @param {boolean} facts.hasSubject - the answer has subjects in it, so that the planted ones can be counted
 * @param {(response: string, mail: import('../lib/mail.js').Mail) => boolean} facts.isRight - whether a message's line says what is in it
 * @returns {import('../lib/question.js').Question}
 */
export function listQuestion({ id, title, command, hasSubject, isRight }) {
  return {
    id,
    title,
    notes: `\`${command}\`. Checked: one answer for each message${hasSubject ? ', as many planted subjects as there are' : ''}, and fifty answers at random against what was put in.`,
    warmUp:
      '"first" is the first ever since the mailbox was filled (of these fields: other questions may have gone before); the others follow. The server’s files are read once before, so that neither disk is measured',
    lines: [
      { id: 'first', label: 'first ever', unit: 'ms', better: 'lower' },
      { id: 'warm', label: 'again', unit: 'ms', better: 'lower' }
    ],
    contenders: imapContenders,
    async measure(run) {
      const { messages, isQuick, seed } = run.options
      const random = new Random(seed + run.round)
      const generator = new MailGenerator(seed)
      readIntoPageCache(serverOf(run).folder)
      const client = await openSession(run)
      const fetchAll = async () => {
        const { bytes, ms } = await client.run(command)
        requireFetches(bytes, messages)
        const some = someOf(random, messages)
        requireRight(bytes, some, (number) => generator.mailOf(number - 1), isRight, title)
        if (hasSubject) {
          const found = countOf(bytes, 'raresubject')
          require(found >= plantedCount('subject', messages), 'the planted subjects')
        }
        return ms
      }
      const first = await fetchAll()
      const warm = await repeat(isQuick ? 2 : 5, fetchAll)
      client.close()
      return { samples: run.round === 0 ? { first: [first], warm } : { warm: [first, ...warm] } }
    }
  }
}
