/**
 * How long does a client that asks for 64 KiB at a time wait for a mail of 25 MB?
 */
import { LARGE, putLargeMail, readInPieces } from './large-mail.js'
import { imapContenders, openSession } from './session.js'

/** @import { LargeMail } from './large-mail.js' */

/** So many readings after the first one are not counted: a thread that has just begun runs code that is not compiled yet. */
const EARLY_READINGS = 2
/** So many readings before the lasting speed is measured: some 10,000 commands, as for short messages (body.bench.js). */
const WARM_UP_READINGS = 26
const COUNTED_READINGS = 3

/** @param {number[]} samples */
const sumOf = (samples) => samples.reduce((sum, ms) => sum + ms, 0)

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
  prepare: putLargeMail,
  async measure(run) {
    const mail = /** @type {LargeMail} */ (run.prepared)
    const client = await openSession(run, { mailbox: LARGE })
    const read = () => readInPieces(client, mail)
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
