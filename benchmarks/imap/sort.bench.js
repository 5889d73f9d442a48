/**
 * How long does it take to have a large mailbox in order, as webmail asks for it whenever a folder is opened?
 */
import { sentAt } from '../lib/mail.js'
import { require, requireEqual } from '../lib/question.js'
import { imapContenders, timeQueries } from './session.js'

/**
 * @typedef {object} Query
 * @property {string} id
 * @property {string} command
 * @property {(uids: readonly number[]) => boolean} [isOrdered] - where the benchmark knows the order; default: it is not checked
 */

/** @type {readonly Query[]} */
const QUERIES = [
  { id: 'date', command: 'SORT (DATE)', isOrdered: (uids) => isAscending(uids.map(sentDate)) },
  {
    id: 'arrival',
    command: 'SORT (REVERSE ARRIVAL)',
    isOrdered: (uids) => isAscending(uids.toReversed().map(sentDate))
  },
  { id: 'subject', command: 'SORT (SUBJECT)' },
  { id: 'from', command: 'SORT (FROM DATE)' },
  { id: 'size', command: 'SORT (SIZE)' },
  { id: 'thread', command: 'THREAD REFERENCES' }
]

/** @param {number} uid - one more than the message's index, which came with the date at which it was sent */
const sentDate = (uid) => sentAt(uid - 1)

/** @param {readonly number[]} values */
const isAscending = (values) =>
  values.every((value, index) => index === 0 || value >= /** @type {number} */ (values[index - 1]))

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'sort',
  title: 'SORT and THREAD',
  notes:
    '`UID SORT` and `UID THREAD` of the whole large mailbox. Checked: each message is there once; by DATE and ARRIVAL also the order. Dovecot keeps what it sorted by in its cache.',
  warmUp: 'each once in each round before it is timed',
  lines: QUERIES.map(({ id, command }) => ({ id, label: command, unit: 'ms', better: 'lower' })),
  contenders: imapContenders,
  rounds: ({ rounds, isQuick }) => (isQuick ? 1 : Math.min(rounds, 3)),
  measure(run) {
    const { messages } = run.options
    return timeQueries(run, QUERIES, async (client, { command, isOrdered = () => true }) => {
      const { bytes, ms } = await client.run(`UID ${command} UTF-8 ALL`)
      const answer = /\* (?:SORT|THREAD)([^\r]*)/.exec(bytes.toString('latin1'))?.[1] ?? ''
      const uids = (answer.match(/\d+/g) ?? []).map(Number)
      requireEqual(uids.length, messages, `messages of ${command}`)
      requireEqual(new Set(uids).size, messages, `different messages of ${command}`)
      require(isOrdered(uids), `the order of ${command}`)
      return ms
    })
  }
}
