/**
 * The searches that are asked for, and the check of their answers.
 */
import { PLANTS, hasPlant, isFlagged, sentAt } from '../lib/mail.js'
import { foundIn, requireSame, uidsWhere } from './checks.js'

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const DAY_SECONDS = 86_400

/** @param {number} messages */
function sinceDate(messages) {
  // Three quarters of the mailbox lie before that day.
  const day = Math.floor(sentAt(Math.floor(messages * 0.75)) / DAY_SECONDS) * DAY_SECONDS
  const date = new Date(day * 1000)
  const text = `${date.getUTCDate()}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()}`
  return { text, day }
}

/**
 * @typedef {object} Search
 * @property {string} id
 * @property {string} label
 * @property {(messages: number) => { keys: string, isHit: (index: number) => boolean }} ask - the messages that are found
 */

const { rare, frequent, firstOfThree, secondOfThree, thirdOfThree, phrase, subject, from } = PLANTS

/** @type {readonly Search[]} */
export const SEARCHES = [
  {
    id: 'rare',
    label: 'TEXT, a rare word (1 message in 500)',
    ask: () => ({ keys: `TEXT ${rare.text}`, isHit: (index) => hasPlant('rare', index) })
  },
  {
    id: 'frequent',
    label: 'TEXT, a frequent word (1 in 10)',
    ask: () => ({ keys: `TEXT ${frequent.text}`, isHit: (index) => hasPlant('frequent', index) })
  },
  {
    id: 'part',
    label: 'BODY, a part of a word (1 in 500)',
    ask: () => ({
      keys: `BODY ${rare.text.slice(2, 9)}`,
      isHit: (index) => hasPlant('rare', index)
    })
  },
  {
    id: 'three',
    label: 'BODY, three words (1 in 100)',
    ask: () => ({
      keys: `BODY ${firstOfThree.text} BODY ${secondOfThree.text} BODY ${thirdOfThree.text}`,
      isHit: (index) => hasPlant('firstOfThree', index)
    })
  },
  {
    id: 'phrase',
    label: 'TEXT, a phrase (1 in 250; its words in another order 1 in 50)',
    ask: () => ({ keys: `TEXT "${phrase.text}"`, isHit: (index) => hasPlant('phrase', index) })
  },
  {
    id: 'subject',
    label: 'SUBJECT (1 in 500)',
    ask: () => ({ keys: `SUBJECT ${subject.text}`, isHit: (index) => hasPlant('subject', index) })
  },
  {
    id: 'letters',
    label: 'SUBJECT, two letters (no message)',
    ask: () => ({ keys: 'SUBJECT qz', isHit: () => false })
  },
  {
    id: 'from',
    label: 'FROM (1 in 250)',
    ask: () => ({ keys: `FROM ${from.text}`, isHit: (index) => hasPlant('from', index) })
  },
  {
    id: 'header',
    label: 'HEADER Message-ID (one message)',
    ask: () => ({ keys: 'HEADER Message-ID <12.', isHit: (index) => index === 12 })
  },
  {
    id: 'date',
    label: 'SINCE (a quarter)',
    ask: (messages) => {
      const { text, day } = sinceDate(messages)
      return { keys: `SINCE ${text}`, isHit: (index) => sentAt(index) >= day }
    }
  },
  { id: 'flag', label: 'FLAGGED (1 in 20)', ask: () => ({ keys: 'FLAGGED', isHit: isFlagged }) },
  {
    id: 'mixed',
    label: 'OR of two words, NOT FLAGGED',
    ask: () => ({
      keys: `OR TEXT ${rare.text} TEXT ${frequent.text} NOT FLAGGED`,
      isHit: (index) =>
        (hasPlant('rare', index) || hasPlant('frequent', index)) && !isFlagged(index)
    })
  }
]

/**
 * @param {Pick<import('./session.js').RunOptions, 'messages'>} options - messages of the mailbox that is selected
 * @returns {(client: import('../lib/imap-client.js').ImapClient, search: Search) => Promise<number>} its time, ms
 */
export const searcher =
  ({ messages }) =>
  async (client, { label, ask }) => {
    const { keys, isHit } = ask(messages)
    const { bytes, ms } = await client.run(`UID SEARCH ${keys}`)
    requireSame(foundIn(bytes), uidsWhere(messages, isHit), `hits of ${label}`)
    return ms
  }
