/**
 * How long until 5,000 more records of a log are on a slow disk?
 */
import { question as append } from './append.bench.js'
import { SLOW_DISK, SLOW_DISK_WORDS } from './contenders.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  ...append,
  id: 'append-slow-disk',
  title: 'Append 5,000 records of a log, durable, on a slow disk',
  notes: `${SLOW_DISK_WORDS} ${append.notes}`,
  lines: append.lines.map((line) => ({
    ...line,
    reference: 'share of the slowest: LSM stores 22 to 27 %, B+tree 100 %'
  })),
  slowDisk: SLOW_DISK
}
