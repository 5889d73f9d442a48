/**
 * How long does a client that asks for 64 KiB at a time wait for a mail of 25 MB?
 */
import { createHash } from 'node:crypto'
import { literalsOf } from '../lib/imap-client.js'
import { requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { imapContenders, openSession, remake } from './session.js'

const MAILBOX = 'large'
const PIECE_BYTES = 64 * 1024

/** So many readings after the first one are not counted: a thread that has just begun runs code that is not compiled yet. */
const EARLY_READINGS = 2
/** So many readings before the lasting speed is measured: some 10,000 commands, as for short messages (body.bench.js). */
const WARM_UP_READINGS = 26
const COUNTED_READINGS = 3
const HEADER =
  'From: Large Mail <large@example.org>\r\nSubject: large\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'

/** @param {import('../lib/question.js').RunOptions} options */
function largeMail({ isQuick, seed }) {
  const bytes = new Random(seed).bytes((isQuick ? 1 : 18) * 1_000_000)
  return Buffer.from(HEADER + bytes.toString('base64').replace(/(.{76})/g, '$1\r\n'))
}

/** @param {number[]} samples */
const sumOf = (samples) => samples.reduce((sum, ms) => sum + ms, 0)

/** @param {Buffer | Buffer[]} bytes */
function hashOf(bytes) {
  const hash = createHash('sha256')
  for (const piece of [bytes].flat()) hash.update(piece)
  return hash.digest('hex')
}

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'partial',
  title: '64 KiB partials of a 25 MB message',
  notes:
    'As Thunderbird reads large mail: `FETCH 1 (UID BODY.PEEK[]<offset.65536>)`, one after the other, to the end (quick: 1 MB). Checked: the SHA-256 of all pieces together.',
  warmUp: `the message is read ${WARM_UP_READINGS} times, and then counted ${COUNTED_READINGS} times. "Just started": the first reading of a round and ${EARLY_READINGS} more, of which the first has its own line, before the ${COUNTED_READINGS} that are counted`,
  lines: [
    { id: 'partial', label: 'one partial', unit: 'ms', better: 'lower' },
    { id: 'whole', label: 'the whole message', unit: 'ms', better: 'lower' },
    { id: 'partialAtFirst', label: 'one partial, just started', unit: 'ms', better: 'lower' },
    { id: 'wholeAtFirst', label: 'the whole message, just started', unit: 'ms', better: 'lower' },
    {
      id: 'first',
      label: 'the whole message, first reading of a round',
      unit: 'ms',
      better: 'lower'
    }
  ],
  contenders: imapContenders,
  async prepare(run) {
    const client = await openSession(run, { mailbox: null })
    const mail = largeMail(run.options)
    await remake(client, MAILBOX)
    await client.run([`APPEND ${MAILBOX} {${mail.length}+}\r\n`, mail])
    client.close()
    return { size: mail.length, hash: hashOf(mail) }
  },
  async measure(run) {
    const { size, hash } = /** @type {{ size: number, hash: string }} */ (run.prepared)
    const client = await openSession(run, { mailbox: MAILBOX })
    const read = async () => {
      const samples = []
      const pieces = []
      for (let offset = 0; offset < size; offset += PIECE_BYTES) {
        const { bytes, ms } = await client.run(
          `FETCH 1 (UID BODY.PEEK[]<${offset}.${PIECE_BYTES}>)`
        )
        samples.push(ms)
        pieces.push(...literalsOf(bytes))
      }
      requireEqual(hashOf(pieces), hash, 'SHA-256 of the pieces')
      return samples
    }
    let done = 0
    const readTimes = async (/** @type {number} */ times) => {
      const readings = []
      for (; readings.length < times; done++) readings.push(await read())
      return readings
    }
    const first = await readTimes(1)
    await readTimes(EARLY_READINGS)
    const atFirst = await readTimes(COUNTED_READINGS)
    await readTimes(WARM_UP_READINGS - done)
    const lasting = await readTimes(COUNTED_READINGS)
    client.close()
    return {
      samples: {
        partial: lasting.flat(),
        whole: lasting.map(sumOf),
        partialAtFirst: atFirst.flat(),
        wholeAtFirst: atFirst.map(sumOf),
        first: first.map(sumOf)
      }
    }
  }
}
