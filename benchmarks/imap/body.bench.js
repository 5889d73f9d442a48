/**
 * How fast are whole messages read: at random one at a time, at random in a pipeline, and one after the other?
 */
import { readIntoPageCache } from '../lib/page-cache.js'
import { Random } from '../lib/random.js'
import { PIPELINE_DEPTH, WARM_UP, bodyReader } from './read-bodies.js'
import { imapContenders, openSession, serverOf } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'body',
  title: 'BODY.PEEK[] of whole messages',
  notes: `One message a command. Pipelined: ${PIPELINE_DEPTH} commands are sent at once, the next ${PIPELINE_DEPTH} when they are answered; a sample is their time divided by ${PIPELINE_DEPTH}. Checked: every message, byte for byte.`,
  warmUp: `the server’s files are read once, so that none must come from the disk. "Just started": as many random reads, one at a time and in the pipeline, as are timed, before the clock starts. The other lines: ${WARM_UP} of each before it`,
  lines: [
    { id: 'random', label: 'random, one at a time', unit: 'ms', better: 'lower' },
    {
      id: 'pipelined',
      label: `random, pipelined by ${PIPELINE_DEPTH}`,
      unit: 'ms',
      better: 'lower'
    },
    {
      id: 'randomAtFirst',
      label: 'random, one at a time, just started',
      unit: 'ms',
      better: 'lower'
    },
    {
      id: 'pipelinedAtFirst',
      label: `random, pipelined by ${PIPELINE_DEPTH}, just started`,
      unit: 'ms',
      better: 'lower'
    },
    { id: 'sequential', label: 'one after the other', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { messages, isQuick, seed } = run.options
    const count = isQuick ? 40 : 2000
    const random = new Random(seed + run.round)
    const client = await openSession(run)
    const read = bodyReader(client, run.options)
    const someNumbers = () => Array.from({ length: count }, () => 1 + random.below(messages))
    /** @param {number} commands - of each kind, that are not counted */
    const warmUp = async (commands) => {
      for (let done = 0; done < commands; done += count) {
        await read(someNumbers(), 1)
        await read(someNumbers(), PIPELINE_DEPTH)
      }
    }

    readIntoPageCache(serverOf(run).folder)
    await warmUp(count)
    const singleAtFirst = await read(someNumbers(), 1)
    const pipelinedAtFirst = await read(someNumbers(), PIPELINE_DEPTH)
    await warmUp(isQuick ? count : WARM_UP - 2 * count)
    const single = await read(someNumbers(), 1)
    const pipelined = await read(someNumbers(), PIPELINE_DEPTH)
    const first = 1 + random.below(messages - count)
    const sequential = await read(
      Array.from({ length: count }, (_, index) => first + index),
      1
    )
    client.close()
    const parts = {
      random: single,
      pipelined,
      randomAtFirst: singleAtFirst,
      pipelinedAtFirst,
      sequential
    }
    return {
      samples: mapValues(parts, ({ samples }) => samples),
      rates: mapValues(parts, ({ rate }) => rate)
    }
  }
}

/**
 * @template From
 * @template To
 * @param {Record<string, From>} object
 * @param {(value: From) => To} change
 * @returns {Record<string, To>}
 */
const mapValues = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
