/**
 * How fast are 5,000 records of 100,000 read: at random, one after the other, and as a stream?
 */
import { join } from 'node:path'
import { dropFromPageCache } from '../lib/page-cache.js'
import { require, requireEqual, timed } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { fillLog, logAmounts, logContenders, openLog } from './contenders.js'
import { recordOf } from './records.js'

/** Repeats in a round, each of other records. */
const REPEATS = 5

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'read',
  title: 'Read 5,000 of 100,000 records of a log',
  notes:
    'Random reads are asked for as one batch, which each store answers in the order of its file within one read transaction; sequential: a batch of neighbours; iterate: one cursor. Decompression is part of the time. Checked: every record that was read, after the clock has stopped.',
  warmUp:
    'the first, cold, batch is a line of its own (page cache of the kernel dropped, file just opened); the others follow in the same process',
  lines: [
    { id: 'cold', label: 'random, cold', unit: 'ms', better: 'lower' },
    {
      id: 'random',
      label: 'random',
      unit: 'ms',
      better: 'lower',
      reference: 'share of the slowest: LSM 99 %, B+tree 63 %, append-only log 100 %'
    },
    {
      id: 'sequential',
      label: 'sequential',
      unit: 'ms',
      better: 'lower',
      reference: 'LSM 100 %, B+tree 55 %, append-only log 98 %'
    },
    {
      id: 'iterate',
      label: 'iterate',
      unit: 'ms',
      better: 'lower',
      reference: 'LSM 25 %, B+tree 2 %, append-only log 100 %'
    }
  ],
  contenders: logContenders,
  prepare: fillLog,
  measure: async (run) => {
    const { seed } = run.options
    const { total, batch } = logAmounts(run.options)
    const random = new Random(seed + run.round)
    const isCold = dropFromPageCache(join(run.folder, 'log.db'))
    const log = openLog(run, { isNew: false, count: total })
    /** @type {{ cold: number[], random: number[], sequential: number[], iterate: number[] }} */
    const samples = { cold: [], random: [], sequential: [], iterate: [] }

    /** @param {number[]} ids */
    const readMany = (ids) => {
      /** @type {Map<number, Buffer>} */
      let found = new Map()
      const took = timed(() => (found = log.readMany(ids)))
      for (const id of ids) {
        require(found.get(id)?.equals(recordOf(seed, id)), `record ${id} as it was appended`)
      }
      return took
    }
    const someIds = () => Array.from({ length: batch }, () => random.below(total))
    const start = () => random.below(total - batch)

    samples.cold.push(readMany(someIds()))
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      samples.random.push(readMany(someIds()))
      const first = start()
      samples.sequential.push(readMany(Array.from({ length: batch }, (_, index) => first + index)))
      const from = start()
      /** @type {Buffer[]} */
      let records = []
      samples.iterate.push(timed(() => (records = [...log.iterate(from, batch)])))
      requireEqual(records.length, batch, 'records of the stream')
      records.forEach((record, index) =>
        require(record.equals(recordOf(seed, from + index)), `record ${from + index}`)
      )
    }
    await log.close()
    return { samples, facts: { 'cold reads from the disk': `${isCold}` } }
  }
}
