/**
 * Reads whole messages of the large mailbox, and checks every byte of them.
 */
import { MailGenerator } from '../lib/mail.js'
import { now, require, requireEqual } from '../lib/question.js'

/** So many commands are under way at once in the pipeline. */
export const PIPELINE_DEPTH = 20

/**
 * So many commands of each kind run before the lasting speed is measured: V8 has made its best code for a kind after ten to
 * fifteen thousand of them (measured), and a server runs for weeks.
 */
export const WARM_UP = 10_000

/**
 * @param {import('../lib/imap-client.js').ImapClient} client - that has selected the large mailbox
 * @param {Pick<import('./session.js').RunOptions, 'seed'>} options
 * @returns {(numbers: number[], depth: number) => Promise<{ samples: number[], rate: number }>} reads the messages of these
 *   numbers, so many at once; a sample is the time of those that are read at once divided by their number, ms; the rate is in
 *   messages a second
 */
export function bodyReader(client, { seed }) {
  const generator = new MailGenerator(seed)
  return async (numbers, depth) => {
    const samples = []
    const answers = []
    const start = now()
    for (let at = 0; at < numbers.length; at += depth) {
      const wanted = numbers.slice(at, at + depth)
      const answer = await client.pipeline(wanted.map((number) => `FETCH ${number} BODY.PEEK[]`))
      samples.push(answer.ms / wanted.length)
      answers.push(answer.bytes)
    }
    const rate = (1000 * numbers.length) / (now() - start)
    // Where a client takes no more of one answer, Dovecot goes on with the next command: that may be over before.
    const { bytes: rest } = await client.run('NOOP')
    const bodies = bodiesIn(Buffer.concat([...answers, rest]))
    const came = bodies.map(({ number }) => number).sort((left, right) => left - right)
    const asked = numbers.toSorted((left, right) => left - right)
    requireEqual(came.join(), asked.join(), 'messages')
    for (const { number, body } of bodies) {
      const { bytes } = generator.mailOf(number - 1)
      require(body.equals(bytes), `message ${number}, byte for byte`)
    }
    return { samples, rate }
  }
}

/**
 * @param {Buffer} bytes - answers to FETCH of BODY[]
 * @returns {{ number: number, body: Buffer }[]}
 */
function bodiesIn(bytes) {
  const bodies = []
  const heads = /^\* (\d+) FETCH \(BODY\[\] \{(\d+)\}\r\n/gm
  const text = bytes.toString('latin1')
  for (let match = heads.exec(text); match; match = heads.exec(text)) {
    const end = heads.lastIndex + Number(match[2])
    bodies.push({ number: Number(match[1]), body: bytes.subarray(heads.lastIndex, end) })
    heads.lastIndex = end
  }
  return bodies
}
