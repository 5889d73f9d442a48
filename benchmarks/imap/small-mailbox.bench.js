/**
 * How long does a client wait in the folders that most people have, of a hundred messages or a thousand?
 */
import { appendArguments } from '../lib/imap-client.js'
import { MailGenerator, PLANTS, hasPlant } from '../lib/mail.js'
import { require } from '../lib/question.js'
import { foundIn, requireBody, requireSame, uidsWhere } from './checks.js'
import { LISTS, lister } from './lists.js'
import { ORDERS, sorter } from './orders.js'
import { flagScanner } from './scan-flags.js'
import { SEARCHES, searcher } from './searches.js'
import {
  imapContenders,
  imapContext,
  openSession,
  remake,
  requireFetches,
  serverOf,
  timeQueries
} from './session.js'
import { fill, untilRested } from './set-up.js'

/** @typedef {import('../lib/imap-client.js').ImapClient} ImapClient */

/** Messages of the two mailboxes. */
const SIZES = [100, 1000]

/** @param {number} size */
const mailboxOf = (size) => `of-${size}`

/** Another mailbox, empty. */
const OTHER = 'none'

/** So many bodies are read in one command, from the first one on. */
const BODIES = 50

/** Each thing is asked for so often in a round, and as often before. */
const SAMPLES = 50

/** The generator's messages from this one on are new ones: one in so many has the rare word. */
const FIRST_NEW = 6_000_000

/**
 * @param {import('./session.js').Run} run
 * @returns {string} an account that no other question fills
 */
const userOf = ({ context }) => `u${imapContext(context).users}`

/**
 * @typedef {(client: ImapClient) => Promise<number>} Ask - checks the answer, and gives its time, ms
 *
 * @typedef {object} Work - something that clients ask for
 * @property {string} id
 * @property {string} label
 * @property {(options: import('./session.js').RunOptions, round: number) => Ask} asker - `messages`: of the mailbox, which is
 *   selected
 */

/** @type {readonly Work[]} */
const WORK = [
  {
    id: 'select',
    label: 'SELECT, where another mailbox was selected',
    asker:
      ({ messages }) =>
      async (client) => {
        await client.run(`SELECT ${OTHER}`)
        const { bytes, ms } = await client.run(`SELECT ${mailboxOf(messages)}`)
        require(bytes.includes(`* ${messages} EXISTS\r\n`), 'EXISTS is the number of messages')
        return ms
      }
  },
  { id: 'flags', label: 'UID FETCH 1:* (FLAGS)', asker: (options) => flagScanner(options) },
  ...Object.entries(LISTS).map(([id, list]) => ({
    id,
    label: list.title,
    asker: workOf(lister, list)
  })),
  {
    id: 'bodies',
    label: `FETCH 1:${BODIES} (BODY.PEEK[])`,
    asker: ({ seed }) => {
      const last = new MailGenerator(seed).mailOf(BODIES - 1)
      return async (client) => {
        const { bytes, ms } = await client.run(`FETCH 1:${BODIES} (BODY.PEEK[])`)
        requireFetches(bytes, BODIES)
        const at = bytes.lastIndexOf(`* ${BODIES} FETCH (`)
        requireBody(bytes.subarray(at), last, `message ${BODIES}`)
        return ms
      }
    }
  },
  ...SEARCHES.map((search) => ({
    id: `search-${search.id}`,
    label: `SEARCH ${search.label}`,
    asker: workOf(searcher, search)
  })),
  {
    id: 'search-new',
    label: 'SEARCH TEXT, a rare word, as soon as a message has come that has it',
    asker: searchNew
  },
  ...ORDERS.map((order) => ({ id: order.id, label: order.command, asker: workOf(sorter, order) }))
]

/**
 * @template Query
 * @param {(options: import('./session.js').RunOptions, round: number) => (client: ImapClient, query: Query) => Promise<number>} maker
 * @param {Query} query
 * @returns {Work['asker']}
 */
function workOf(maker, query) {
  return (options, round) => {
    const ask = maker(options, round)
    return (client) => ask(client, query)
  }
}

/** @type {Work['asker']} */
function searchNew({ messages, seed }) {
  const generator = new MailGenerator(seed)
  const before = uidsWhere(messages, (index) => hasPlant('rare', index))
  let next = FIRST_NEW + PLANTS.rare.offset
  return async (client) => {
    const mail = generator.mailOf(next)
    next += PLANTS.rare.every
    const appended = await client.run([`APPEND ${mailboxOf(messages)}`, ...appendArguments(mail)])
    const uid = Number(/APPENDUID \d+ (\d+)/.exec(appended.status)?.[1])
    const { bytes, ms } = await client.run(`UID SEARCH TEXT ${PLANTS.rare.text}`)
    requireSame(foundIn(bytes), [...before, uid], 'hits, the new message among them')
    await client.run(`UID STORE ${uid} +FLAGS.SILENT (\\Deleted)`)
    await client.run('EXPUNGE')
    return ms
  }
}

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'small-mailbox',
  title: 'Mailboxes of 100 and of 1,000 messages',
  notes:
    'Both are in one account, which has nothing else. One connection asks for one thing after the other. Checked as in the questions about the large mailbox; of fifty bodies the last one, byte for byte. The message that has just come is expunged when it was found; only the search is in the time.',
  warmUp: 'in each round each as often as it is timed, so that code is compiled',
  lines: SIZES.flatMap((size) =>
    WORK.map(({ id, label }) => ({
      id: `${id}-${size}`,
      label: `${size} messages: ${label}`,
      unit: /** @type {const} */ ('ms'),
      better: /** @type {const} */ ('lower')
    }))
  ),
  contenders: imapContenders,
  rounds: ({ rounds, isQuick }) => (isQuick ? 1 : Math.min(rounds, 3)),
  async prepare(run) {
    const client = await openSession(run, { user: userOf(run), mailbox: null })
    await remake(client, OTHER)
    for (const size of SIZES)
      await fill(client, mailboxOf(size), { ...run.options, messages: size })
    await untilRested(serverOf(run).pid, run.options)
    client.close()
    return {}
  },
  async measure(run) {
    /** @type {Record<string, number[]>} */
    const samples = {}
    for (const messages of SIZES) {
      const works = WORK.map(({ id, asker }) => ({
        id: `${id}-${messages}`,
        ask: asker({ ...run.options, messages }, run.round)
      }))
      const where = {
        user: userOf(run),
        mailbox: mailboxOf(messages),
        warmUp: SAMPLES,
        most: SAMPLES
      }
      const taken = await timeQueries(run, works, (client, { ask }) => ask(client), where)
      Object.assign(samples, taken.samples)
    }
    return { samples }
  }
}
