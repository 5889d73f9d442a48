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

/** What Apple Mail on iOS and macOS asks for: the signatures are as long as all that others ask for. */
const APPLE_FIELDS =
  'date subject from to cc message-id in-reply-to references content-type x-priority x-uniform-type-identifier x-universally-unique-identifier list-id list-unsubscribe bimi-indicator bimi-location x-bimi-indicator-hash authentication-results dkim-signature'

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
  'apple-headers': {
    title: 'Apple Mail’s header list of every message',
    command: `FETCH 1:* (INTERNALDATE UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (${APPLE_FIELDS})])`,
    hasSubject: true,
    isRight: hasFields(APPLE_FIELDS.split(' '))
  },
  'whole-headers': {
    title: 'The whole header of every message',
    command: 'UID FETCH 1:* (UID FLAGS RFC822.SIZE RFC822.HEADER)',
    hasSubject: true,
    isRight: hasFields(null)
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
