/**
 * The orders of a whole mailbox that are asked for, and the checks of the answers.
 */
import { MailGenerator, sentAt } from '../lib/mail.js'
import { require, requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { fieldOf, someInOrder, someOf, threadsOf } from './checks.js'

/** @typedef {import('../lib/mail.js').Mail} Mail */

/**
 * @callback Check
 * @param {Buffer} bytes - the answer
 * @param {readonly number[]} uids - in it, in its order
 * @param {{ some: Random, generator: MailGenerator }} facts
 * @returns {boolean}
 */

/**
 * @typedef {object} Order
 * @property {string} id
 * @property {string} command
 * @property {Check} isRight
 */

/**
 * @template Value
 * @param {(mail: Mail) => Value | null} valueOf - that messages are in the order of; null: not compared
 * @param {(one: Value, other: Value) => number} compare
 * @returns {Check} of some messages of the answer, made again
 */
const someAreBy =
  (valueOf, compare) =>
  (_, uids, { some, generator }) => {
    const values = someInOrder(uids, some).flatMap((uid) => {
      const value = valueOf(generator.mailOf(uid - 1))
      return value === null ? [] : [{ uid, value }]
    })
    return values.every(({ uid, value }, index) => {
      const before = values[index - 1]
      if (!before) return true
      const order = compare(before.value, value)
      return order < 0 || (order === 0 && before.uid < uid)
    })
  }

/**
 * @param {string} one
 * @param {string} other
 */
const byText = (one, other) => (one === other ? 0 : one < other ? -1 : 1)

/**
 * @param {Mail} mail
 * @returns {string | null} base subject (RFC 5256 §2.1); null where it is encoded
 */
function subjectOf(mail) {
  const subject = fieldOf(mail, 'Subject') ?? ''
  return subject.includes('=?') ? null : subject.replace(/^Re: /, '').toUpperCase()
}

/** @param {Mail} mail */
const senderOf = (mail) => /<([^@]+)@/.exec(fieldOf(mail, 'From') ?? '')?.[1]?.toUpperCase() ?? ''

/** @type {Check} */
function areThreads(bytes, uids, { some, generator }) {
  const threads = threadsOf(bytes)
  // Two thirds of the messages answer none, and few of these share a subject.
  const count = new Set(threads.values()).size
  if (count < uids.length / 4) return false
  return someOf(some, uids.length).every((uid) => {
    const answered = /^<(\d+)\./.exec(fieldOf(generator.mailOf(uid - 1), 'In-Reply-To') ?? '')?.[1]
    return answered === undefined || threads.get(uid) === threads.get(Number(answered) + 1)
  })
}

/** @type {readonly Order[]} */
export const ORDERS = [
  { id: 'date', command: 'SORT (DATE)', isRight: (_, uids) => isAscending(uids.map(sentDate)) },
  {
    id: 'arrival',
    command: 'SORT (REVERSE ARRIVAL)',
    isRight: (_, uids) => isAscending(uids.toReversed().map(sentDate))
  },
  { id: 'subject', command: 'SORT (SUBJECT)', isRight: someAreBy(subjectOf, byText) },
  { id: 'from', command: 'SORT (FROM DATE)', isRight: someAreBy(senderOf, byText) },
  {
    id: 'size',
    command: 'SORT (SIZE)',
    isRight: someAreBy(
      ({ bytes }) => bytes.length,
      (one, other) => one - other
    )
  },
  { id: 'thread', command: 'THREAD REFERENCES', isRight: areThreads }
]

/** @param {number} uid - one more than the message's index, which came with the date at which it was sent */
const sentDate = (uid) => sentAt(uid - 1)

/** @param {readonly number[]} values */
const isAscending = (values) =>
  values.every((value, index) => index === 0 || value >= /** @type {number} */ (values[index - 1]))

/**
 * @param {Pick<import('./session.js').RunOptions, 'messages' | 'seed'>} options - messages of the mailbox that is selected
 * @param {number} round
 * @returns {(client: import('../lib/imap-client.js').ImapClient, order: Order) => Promise<number>} its time, ms
 */
export function sorter({ messages, seed }, round) {
  const facts = { some: new Random(seed + round), generator: new MailGenerator(seed) }
  return async (client, { command, isRight }) => {
    const { bytes, ms } = await client.run(`UID ${command} UTF-8 ALL`)
    const answer = /\* (?:SORT|THREAD)([^\r]*)/.exec(bytes.toString('latin1'))?.[1] ?? ''
    const uids = (answer.match(/\d+/g) ?? []).map(Number)
    requireEqual(uids.length, messages, `messages of ${command}`)
    requireEqual(new Set(uids).size, messages, `different messages of ${command}`)
    require(isRight(bytes, uids, facts), `the order of ${command}`)
    return ms
  }
}
