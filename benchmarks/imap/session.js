/**
 * Helpers of every IMAP question: the servers as contenders, and sessions with them.
 */
import { ImapClient, countOf } from '../lib/imap-client.js'
import { now, requireEqual } from '../lib/question.js'
import { BIG } from './set-up.js'

/**
 * @typedef {import('../lib/question.js').Run} Run
 * @typedef {import('../lib/question.js').RunOptions} RunOptions
 * @typedef {import('./set-up.js').ImapContext} ImapContext
 */

/** @param {Record<string, unknown>} context */
export const imapContext = (context) =>
  /** @type {ImapContext} */ (/** @type {unknown} */ (context))

/**
 * @param {RunOptions} _
 * @param {Record<string, unknown>} context
 * @returns {import('../lib/question.js').Contender[]}
 */
export const imapContenders = (_, context) =>
  imapContext(context).servers.map(({ id, label, isPeer, settings }) => ({
    id,
    label,
    isPeer,
    settings
  }))

/**
 * @param {Pick<Run, 'contender' | 'context'>} run
 * @returns {import('./set-up.js').ServerFacts}
 */
export function serverOf({ contender, context }) {
  const server = imapContext(context).servers.find(({ id }) => id === contender.id)
  if (!server) throw new Error(`no server ${contender.id}`)
  return server
}

/**
 * @param {Run} run
 * @param {{ isTls?: boolean }} [options]
 */
export function connectTo(run, { isTls = false } = {}) {
  const { ports } = serverOf(run)
  return ImapClient.connect({ host: '127.0.0.1', port: isTls ? ports.imaps : ports.imap, isTls })
}

/**
 * @param {Run} run
 * @param {{ user?: string, mailbox?: string | null, isTls?: boolean }} [options] - default: u1, the large mailbox
 * @returns {Promise<ImapClient>} logged in, with the mailbox selected
 */
export async function openSession(run, { user = 'u1', mailbox = BIG, isTls = false } = {}) {
  const client = await connectTo(run, { isTls })
  await client.login(user, 'pass')
  if (mailbox !== null) await client.run(`SELECT "${mailbox}"`)
  return client
}

/**
 * @param {ImapClient} client
 * @param {string} mailbox
 * @returns {Promise<number>}
 */
export async function messageCount(client, mailbox) {
  const { bytes } = await client.run(`STATUS "${mailbox}" (MESSAGES)`)
  return Number(/MESSAGES (\d+)/.exec(bytes.toString('latin1'))?.[1])
}

/**
 * Deletes a mailbox if it is there, and makes it.
 *
 * @param {ImapClient} client
 * @param {string} mailbox
 */
export async function remake(client, mailbox) {
  await client.pipeline([`DELETE "${mailbox}"`])
  await client.run(`CREATE "${mailbox}"`)
}

/**
 * Answers to FETCH start with `* number FETCH (`; inside a literal that is not at a line's start in generated mail.
 *
 * @param {Buffer} bytes
 * @param {number} expected
 */
export function requireFetches(bytes, expected) {
  requireEqual(countOf(bytes, ' FETCH ('), expected, 'answers to FETCH')
}

/** After so many ms within one round, a question is not asked again. */
const ENOUGH_MS = 4000

/**
 * Repeats `work` up to `most` times, fewer when it is slow.
 *
 * @param {number} most
 * @param {(index: number) => Promise<number>} work - gives its own time, ms
 * @returns {Promise<number[]>}
 */
export async function repeat(most, work) {
  const samples = []
  const start = now()
  for (let index = 0; index < most && (index < 1 || now() - start < ENOUGH_MS); index++) {
    samples.push(await work(index))
  }
  return samples
}

/**
 * Puts several queries to a mailbox, each some times to warm up and then again and again.
 *
 * @template {{ id: string }} Query
 * @param {Run} run
 * @param {readonly Query[]} queries
 * @param {(client: ImapClient, query: Query) => Promise<number>} ask - checks the answer, and gives its time, ms
 * @param {{ user?: string, mailbox?: string, warmUp?: number, most?: number }} [options] - default: the large mailbox of u1,
 *   warmed up once; `most`: samples
 * @returns {Promise<{ samples: Record<string, number[]> }>} by the ids of the queries
 */
export async function timeQueries(run, queries, ask, { warmUp = 1, most = 10, ...where } = {}) {
  const client = await openSession(run, where)
  /** @type {Record<string, number[]>} */
  const samples = {}
  for (const query of queries) {
    const askOne = () => ask(client, query)
    await repeat(run.options.isQuick ? 1 : warmUp, askOne)
    samples[query.id] = await repeat(run.options.isQuick ? 2 : most, askOne)
    run.progress(Object.keys(samples).length, queries.length)
  }
  client.close()
  return { samples }
}
