/**
 * How fast are flags changed: of one message, of a hundred by a command each, and of all?
 */
import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { countOf } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, requireEqual, timed } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { median } from '../lib/statistics.js'
import { foundIn, hasFlags, requireRight, requireSame, someOf, uidsWhere } from './checks.js'
import { imapContenders, openSession, repeat, requireFetches } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'store',
  title: 'STORE',
  notes:
    'Letterlock’s flag changes are on the disk when the OK comes, Dovecot’s are not (mail_fsync=optimized); the disk’s own fdatasync rate in the same round is told with the contenders. Checked: which messages have the flag afterwards, and of fifty answers the other flags.',
  warmUp: 'twice as many changes of one message as are timed, before the clock starts',
  lines: [
    {
      id: 'one',
      label: 'UID STORE n ±FLAGS.SILENT (\\Answered), random n',
      unit: 'ms',
      better: 'lower'
    },
    {
      id: 'pipelined',
      label: '100 × STORE n ±FLAGS.SILENT (\\Answered) at once, random n',
      unit: 'ms',
      better: 'lower'
    },
    { id: 'silent', label: 'STORE 1:* +FLAGS.SILENT (\\Answered)', unit: 'ms', better: 'lower' },
    {
      id: 'answers',
      label: 'STORE 1:* -FLAGS (\\Answered), with answers',
      unit: 'ms',
      better: 'lower'
    }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { messages, isQuick, seed } = run.options
    const random = new Random(seed + run.round)
    const syncs = syncRate(run.folder, isQuick ? 20 : 200)
    const client = await openSession(run)
    const generator = new MailGenerator(seed)
    const mailOf = (/** @type {number} */ number) => generator.mailOf(number - 1)
    const requireAnswered = async (/** @type {(number: number) => boolean} */ test) => {
      const { bytes } = await client.run('UID SEARCH ANSWERED')
      const expected = uidsWhere(messages, (index) => test(index + 1))
      requireSame(foundIn(bytes), expected, 'messages with \\Answered')
    }
    await client.run('STORE 1:* -FLAGS.SILENT (\\Answered)')
    const answered = new Set()
    const nextChange = () => {
      const number = 1 + random.below(messages)
      const isSet = answered.delete(number)
      if (!isSet) answered.add(number)
      return `STORE ${number} ${isSet ? '-' : '+'}FLAGS.SILENT (\\Answered)`
    }
    const changeOne = async () => (await client.run(nextChange())).ms
    const changes = isQuick ? 30 : 1000
    for (let index = 0; index < 2 * changes; index++) await changeOne()
    const one = []
    const start = now()
    for (let index = 0; index < changes; index++) one.push(await changeOne())
    const rate = (1000 * one.length) / (now() - start)
    await requireAnswered((number) => answered.has(number))
    const pipelined = await repeat(isQuick ? 2 : 10, async () => {
      const { ms } = await client.pipeline(Array.from({ length: 100 }, nextChange))
      await requireAnswered((number) => answered.has(number))
      return ms
    })

    /** @type {number[]} */
    const silent = []
    const answers = await repeat(isQuick ? 2 : 5, async () => {
      silent.push((await client.run('STORE 1:* +FLAGS.SILENT (\\Answered)')).ms)
      await requireAnswered(() => true)
      const { bytes, ms } = await client.run('STORE 1:* -FLAGS (\\Answered)')
      requireFetches(bytes, messages)
      requireRight(bytes, someOf(random, messages), mailOf, hasFlags, 'flags')
      requireEqual(countOf(bytes, '\\Answered'), 0, 'answers with \\Answered')
      await requireAnswered(() => false)
      return ms
    })
    client.close()
    return {
      samples: { one, pipelined, silent, answers },
      rates: { one: rate },
      facts: { 'fdatasync of this disk': `${Math.round(syncs)}/s` }
    }
  }
}

/**
 * @param {string} folder
 * @param {number} count
 * @returns {number} how many small appends a second the disk makes durable, one by one
 */
function syncRate(folder, count) {
  mkdirSync(folder, { recursive: true })
  const descriptor = openSync(join(folder, 'sync'), 'w')
  const page = Buffer.alloc(4096, 1)
  try {
    const samples = Array.from({ length: count }, () =>
      timed(() => {
        writeSync(descriptor, page)
        fdatasyncSync(descriptor)
      })
    )
    return 1000 / median(samples)
  } finally {
    closeSync(descriptor)
  }
}
