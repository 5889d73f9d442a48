/**
 * How fast are records of a log read from a slow disk?
 */
import { question as read } from './read.bench.js'
import { SLOW_DISK, SLOW_DISK_WORDS } from './contenders.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  ...read,
  id: 'read-slow-disk',
  title: 'Read 5,000 of 100,000 records of a log from a slow disk',
  notes: `${SLOW_DISK_WORDS} The cold line meets the disk most: what was read once is in the page cache afterwards. ${read.notes}`,
  slowDisk: SLOW_DISK
}
