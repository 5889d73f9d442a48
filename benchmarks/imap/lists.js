/**
 * The lists of every message that clients ask for, and the checks of the answers.
 */
import { countOf } from '../lib/imap-client.js'
import { MailGenerator, plantedCount } from '../lib/mail.js'
import { require } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { hasEnvelope, hasFields, hasStructure, requireRight, someOf } from './checks.js'
import { requireFetches } from './session.js'

/**
 * @typedef {object} List
 * @property {string} title
 * @property {string} command
 * @property {boolean} hasSubject - the answer has subjects in it, so that the planted ones can be counted
 * @property {(response: string, mail: import('../lib/mail.js').Mail) => boolean} isRight - whether a message's line says what is in it
 */

/** What Thunderbird asks for in a folder that is new to it. */
const FIELDS =
  'From To Cc Bcc Subject Date Message-ID Priority X-Priority References Newsgroups In-Reply-To Content-Type Reply-To'

/** @satisfies {Record<string, List>} */
export const LISTS = {
  envelope: {
    title: 'FETCH 1:* (ENVELOPE)',
    command: 'FETCH 1:* (ENVELOPE)',
    hasSubject: true,
    isRight: hasEnvelope
  },
  headers: {
    title: 'Thunderbird’s header list of every message',
    command: `UID FETCH 1:* (UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (${FIELDS})])`,
    hasSubject: true,
    isRight: hasFields(FIELDS.split(' '))
  },
  structure: {
    title: 'FETCH 1:* (BODYSTRUCTURE)',
    command: 'FETCH 1:* (BODYSTRUCTURE)',
    hasSubject: false,
    isRight: hasStructure
  }
}

/**
 * @param {Pick<import('./session.js').RunOptions, 'messages' | 'seed'>} options - messages of the mailbox that is selected
 * @param {number} round
 * @returns {(client: import('../lib/imap-client.js').ImapClient, list: List) => Promise<number>} its time, ms
 */
export function lister({ messages, seed }, round) {
  const random = new Random(seed + round)
  const generator = new MailGenerator(seed)
  return async (client, { title, command, hasSubject, isRight }) => {
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
}
