/**
 * How long does a search of a large mailbox take?
 */
import { PLANTS, flaggedCount, plantedCount, sentAt } from '../lib/mail.js'
import { requireEqual } from '../lib/question.js'
import { imapContenders, timeQueries } from './session.js'

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const DAY_SECONDS = 86_400

/** @param {number} messages */
function sinceDate(messages) {
  // Three quarters of the mailbox lie before it.
  const day = Math.floor(sentAt(Math.floor(messages * 0.75)) / DAY_SECONDS) * DAY_SECONDS
  const date = new Date(day * 1000)
  let count = 0
  for (let index = 0; index < messages; index++) if (sentAt(index) >= day) count++
  const text = `${date.getUTCDate()}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()}`
  return { text, count }
}

/**
 * @typedef {object} Query
 * @property {string} id
 * @property {string} label
 * @property {(messages: number) => { keys: string, expected: number }} ask
 */

const { rare, frequent, firstOfThree, secondOfThree, thirdOfThree, phrase, subject, from } = PLANTS

/** @type {readonly Query[]} */
const QUERIES = [
  {
    id: 'rare',
    label: 'TEXT, a rare word (1 message in 500)',
    ask: (messages) => ({ keys: `TEXT ${rare.text}`, expected: plantedCount('rare', messages) })
  },
  {
    id: 'frequent',
    label: 'TEXT, a frequent word (1 in 10)',
    ask: (messages) => ({
      keys: `TEXT ${frequent.text}`,
      expected: plantedCount('frequent', messages)
    })
  },
  {
    id: 'part',
    label: 'BODY, a part of a word (1 in 500)',
    ask: (messages) => ({
      keys: `BODY ${rare.text.slice(2, 9)}`,
      expected: plantedCount('rare', messages)
    })
  },
  {
    id: 'three',
    label: 'BODY, three words (1 in 100)',
    ask: (messages) => ({
      keys: `BODY ${firstOfThree.text} BODY ${secondOfThree.text} BODY ${thirdOfThree.text}`,
      expected: plantedCount('firstOfThree', messages)
    })
  },
  {
    id: 'phrase',
    label: 'TEXT, a phrase (1 in 250; its words in another order 1 in 50)',
    ask: (messages) => ({
      keys: `TEXT "${phrase.text}"`,
      expected: plantedCount('phrase', messages)
    })
  },
  {
    id: 'subject',
    label: 'SUBJECT (1 in 500)',
    ask: (messages) => ({
      keys: `SUBJECT ${subject.text}`,
      expected: plantedCount('subject', messages)
    })
  },
  {
    id: 'letters',
    label: 'SUBJECT, two letters (no message)',
    ask: () => ({ keys: 'SUBJECT qz', expected: 0 })
  },
  {
    id: 'from',
    label: 'FROM (1 in 250)',
    ask: (messages) => ({ keys: `FROM ${from.text}`, expected: plantedCount('from', messages) })
  },
  {
    id: 'header',
    label: 'HEADER Message-ID (one message)',
    ask: () => ({ keys: 'HEADER Message-ID <12.', expected: 1 })
  },
  {
    id: 'date',
    label: 'SINCE (a quarter)',
    ask: (messages) => {
      const { text, count } = sinceDate(messages)
      return { keys: `SINCE ${text}`, expected: count }
    }
  },
  {
    id: 'flag',
    label: 'FLAGGED (1 in 20)',
    ask: (messages) => ({ keys: 'FLAGGED', expected: flaggedCount(messages) })
  },
  {
    id: 'mixed',
    label: 'OR of two words, NOT FLAGGED',
    ask: (messages) => {
      const has = (
        /** @type {{ every: number, offset: number }} */ plant,
        /** @type {number} */ index
      ) => index % plant.every === plant.offset % plant.every
      let expected = 0
      for (let index = 0; index < messages; index++) {
        if ((has(rare, index) || has(frequent, index)) && index % 20 !== 0) expected++
      }
      return { keys: `OR TEXT ${rare.text} TEXT ${frequent.text} NOT FLAGGED`, expected }
    }
  }
]

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'search',
  title: 'SEARCH',
  notes:
    '`UID SEARCH` of the large mailbox; words were planted, so the right number of hits is known and checked. Dovecot has no full-text index here, as Debian ships it.',
  warmUp:
    'each query once in each round before it is timed; a query that takes seconds is timed once',
  lines: QUERIES.map(({ id, label }) => ({
    id,
    label,
    unit: /** @type {const} */ ('ms'),
    better: /** @type {const} */ ('lower')
  })),
  contenders: imapContenders,
  rounds: ({ rounds, isQuick }) => (isQuick ? 1 : Math.min(rounds, 3)),
  measure(run) {
    const { messages } = run.options
    return timeQueries(run, QUERIES, async (client, { label, ask }) => {
      const { keys, expected } = ask(messages)
      const { bytes, ms } = await client.run(`UID SEARCH ${keys}`)
      const hits = /\* SEARCH([^\r]*)/.exec(bytes.toString('latin1'))?.[1] ?? ''
      requireEqual(hits.split(' ').length - 1, expected, `hits of ${label}`)
      return ms
    })
  }
}
