/**
 * What does a mail program wait for over TLS, as nearly all of them come?
 */
import { readIntoPageCache } from '../lib/page-cache.js'
import { timedAsync } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { LARGE, putLargeMail, readAtOnce, readInPieces } from './large-mail.js'
import { LISTS, lister } from './lists.js'
import { PIPELINE_DEPTH, WARM_UP, bodyReader } from './read-bodies.js'
import { SCAN_CHECKS, flagScanner } from './scan-flags.js'
import { connectTo, imapContenders, openSession, repeat, serverOf } from './session.js'

/** @import { LargeMail } from './large-mail.js' */

/** Bodies that are timed, of each kind. */
const COUNT = 2000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'tls',
  title: 'The same over TLS',
  notes: `TLS 1.3 from the first byte, without compression; Dovecot’s login process goes on with the cipher for the process that has the mailbox (its default). Connecting: TCP, handshake, greeting; Letterlock has made itself a certificate of elliptic curves, Dovecot has an RSA one of 2,048 bits. The commands and their checks are those of the other questions. Flags: ${SCAN_CHECKS}`,
  warmUp: `one of each list, ${WARM_UP} bodies one at a time and as many in the pipeline, and one reading of the large message that are not counted. The server’s files are read once before, so that neither disk is measured`,
  lines: [
    { id: 'connect', label: 'connecting', unit: 'ms', better: 'lower' },
    { id: 'flags', label: 'UID FETCH 1:* (FLAGS)', unit: 'ms', better: 'lower' },
    { id: 'envelope', label: LISTS.envelope.title, unit: 'ms', better: 'lower' },
    { id: 'headers', label: LISTS.headers.title, unit: 'ms', better: 'lower' },
    { id: 'random', label: 'BODY.PEEK[] at random, one at a time', unit: 'ms', better: 'lower' },
    {
      id: 'pipelined',
      label: `BODY.PEEK[] at random, pipelined by ${PIPELINE_DEPTH}`,
      unit: 'ms',
      better: 'lower'
    },
    { id: 'partial', label: '64 KiB of a 25 MB message', unit: 'ms', better: 'lower' },
    { id: 'whole', label: 'a 25 MB message at once', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  prepare: putLargeMail,
  async measure(run) {
    const { isQuick, messages, seed } = run.options
    const mail = /** @type {LargeMail} */ (run.prepared)
    readIntoPageCache(serverOf(run).folder)
    const connect = () =>
      timedAsync(async () => {
        const client = await connectTo(run, { isTls: true })
        client.close()
      })
    await connect()
    const connects = await repeat(isQuick ? 3 : 100, connect)

    const client = await openSession(run, { isTls: true })
    const scan = flagScanner(run.options)
    const fetchAll = lister(run.options, run.round)
    const often = async (/** @type {() => Promise<number>} */ work) => {
      await work()
      return await repeat(isQuick ? 2 : 5, work)
    }
    const flags = await often(() => scan(client))
    const envelope = await often(() => fetchAll(client, LISTS.envelope))
    const headers = await often(() => fetchAll(client, LISTS.headers))

    const random = new Random(seed + run.round)
    const read = bodyReader(client, run.options)
    const some = () =>
      Array.from({ length: isQuick ? 40 : COUNT }, () => 1 + random.below(messages))
    for (let done = 0; done < (isQuick ? COUNT : WARM_UP); done += COUNT) {
      await read(some(), 1)
      await read(some(), PIPELINE_DEPTH)
    }
    const single = await read(some(), 1)
    const pipelined = await read(some(), PIPELINE_DEPTH)

    await client.run(`SELECT ${LARGE}`)
    await readInPieces(client, mail)
    const partial = (await readInPieces(client, mail)).concat(await readInPieces(client, mail))
    const whole = await repeat(isQuick ? 2 : 5, () => readAtOnce(client, mail))
    client.close()
    return {
      samples: {
        connect: connects,
        flags,
        envelope,
        headers,
        random: single.samples,
        pipelined: pipelined.samples,
        partial,
        whole
      },
      rates: { random: single.rate, pipelined: pipelined.rate }
    }
  }
}
