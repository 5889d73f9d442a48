/**
 * How many bytes on the disk is a record of a log?
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fillLog, logAmounts, logContenders } from './contenders.js'
import { recordOf } from './records.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'size',
  title: 'Bytes on the disk for a record of a log',
  notes:
    'The whole file after a checkpoint, divided by the records. Single values of that size hardly compress (each starts with nothing to refer to), blocks of 64 do. No randomness: one round.',
  warmUp: 'none',
  lines: [
    {
      id: 'element',
      label: 'bytes a record',
      unit: 'bytes',
      better: 'lower',
      reference: 'share of the largest: LSM 54 %, LSM + zstd 30 %, B+tree 100 %, log 51 %'
    },
    { id: 'ratio', label: 'share of the raw bytes', unit: 'ratio', better: 'lower' }
  ],
  contenders: logContenders,
  prepare: fillLog,
  rounds: () => 1,
  measure: ({ folder, options }) => {
    const { total } = logAmounts(options)
    let raw = 0
    for (let index = 0; index < total; index++) raw += recordOf(options.seed, index).length
    const { size } = statSync(join(folder, 'log.db'))
    return {
      samples: { element: [size / total], ratio: [size / raw] },
      facts: { 'raw bytes a record': Number((raw / total).toFixed(1)) }
    }
  }
}
