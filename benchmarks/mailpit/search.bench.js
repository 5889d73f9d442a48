/**
 * How long does a search for one word take, and for three?
 */
import { openSession, repeat } from '../imap/session.js'
import { foundIn, requireSame, uidsWhere } from '../imap/checks.js'
import { PLANTS, hasPlant } from '../lib/mail.js'
import { timed } from '../lib/question.js'
import { isPlain, mailpitContenders, openPlain } from './set-up.js'

/** @typedef {keyof typeof PLANTS} PlantName */

/** @type {readonly { id: string, label: string, words: PlantName[], hits: PlantName, reference?: string }[]} */
const SEARCHES = [
  {
    id: 'one',
    label: 'one word (1 message in 500)',
    words: ['rare'],
    hits: 'rare',
    reference: 'key-value store 70 ms, SQLite 32 ms'
  },
  {
    id: 'three',
    label: 'three words (1 in 100)',
    words: ['firstOfThree', 'secondOfThree', 'thirdOfThree'],
    hits: 'firstOfThree',
    reference: 'key-value store 3,756 ms, SQLite 1,264 ms'
  },
  { id: 'frequent', label: 'one frequent word (1 in 10)', words: ['frequent'], hits: 'frequent' }
]

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'search',
  title: 'Search',
  notes:
    'Letterlock: UID SEARCH TEXT …, with UIDs up to the last planted message; plain SQLite: LIKE over the whole text. Words were planted, so the right hits are known, and checked one by one.',
  warmUp: 'each search once before it is timed',
  lines: SEARCHES.map(({ id, label, reference }) => ({
    id,
    label,
    unit: /** @type {const} */ ('ms'),
    better: /** @type {const} */ ('lower'),
    ...(reference !== undefined && { reference })
  })),
  contenders: mailpitContenders,
  async measure(run) {
    const { messages, isQuick } = run.options
    const search = await searcher(run)
    /** @type {Record<string, number[]>} */
    const samples = {}
    for (const { id, words, hits, label } of SEARCHES) {
      const once = async () => {
        const { found, ms } = await search.ask(words.map((word) => PLANTS[word].text))
        const right = uidsWhere(messages, (index) => hasPlant(hits, index))
        requireSame(found, right, `hits of ${label}`)
        return ms
      }
      await once()
      samples[id] = await repeat(isQuick ? 2 : 10, once)
    }
    search.close()
    return { samples }
  }
}

/** @param {import('../lib/question.js').Run} run */
async function searcher(run) {
  const { messages } = run.options
  if (isPlain(run)) {
    const mailbox = openPlain(run)
    return {
      ask: async (/** @type {string[]} */ words) => {
        /** @type {number[]} */
        let found = []
        const ms = timed(() => (found = mailbox.search(words, messages)))
        return { found, ms }
      },
      close: () => mailbox.close()
    }
  }
  const client = await openSession(run)
  return {
    ask: async (/** @type {string[]} */ words) => {
      // Messages that the insert question has added have planted words too.
      const keys = [`1:${messages}`, ...words.map((word) => `TEXT ${word}`)].join(' ')
      const { bytes, ms } = await client.run(`UID SEARCH ${keys}`)
      return { found: foundIn(bytes), ms }
    },
    close: () => client.close()
  }
}
