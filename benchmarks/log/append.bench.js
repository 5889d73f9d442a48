/**
 * How long until 5,000 more records of a log are on the disk?
 */
import { require, timedAsync } from '../lib/question.js'
import { fillLog, logAmounts, logContenders, openLog, recordsOf } from './contenders.js'

/** Batches in a round. */
const BATCHES = 5

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'append',
  title: 'Append 5,000 records of a log, durable',
  notes:
    'Records of 250 to 300 bytes, JSON-like, similar to each other. One transaction a batch; synchronous=FULL, and for Letterlock’s settings NORMAL with an fdatasync of the -wal after the commit. Five batches a round, each onto what is there. Compression is part of the time. Checked: the records of each round, read back.',
  warmUp: 'one batch that is not counted',
  lines: [
    {
      id: 'append',
      label: 'append a batch of 5,000 (quick: 200)',
      unit: 'ms',
      better: 'lower',
      reference:
        'share of the slowest: LSM 65 %, LSM + zstd 66 %, B+tree 96 %, append-only log 100 %'
    }
  ],
  contenders: logContenders,
  prepare: fillLog,
  async measure(run) {
    const { seed } = run.options
    const { total, batch } = logAmounts(run.options)
    const first = total + run.round * batch * (BATCHES + 1)
    const log = openLog(run, { isNew: false, count: first })
    const samples = []
    for (let index = 0; index <= BATCHES; index++) {
      const records = recordsOf(seed, log.count, batch)
      const took = await timedAsync(() => log.append(records))
      if (index > 0) samples.push(took)
    }
    const expected = recordsOf(seed, first, log.count - first)
    let at = 0
    for (const record of log.iterate(first, expected.length)) {
      require(expected[at++]?.equals(record), `record ${first + at} as it was appended`)
    }
    require(at === expected.length, 'all records')
    await log.close()
    const rate = (1000 * batch * samples.length) / samples.reduce((sum, ms) => sum + ms, 0)
    return { samples: { append: samples }, rates: { append: rate } }
  }
}
