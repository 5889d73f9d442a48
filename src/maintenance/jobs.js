/**
 * The jobs on an open mailbox, in the order in which they help each other: what makes free pages comes before what
 * gives them back, and the log is emptied last.
 */
import { checkpoint } from './jobs/checkpoint.js'
import { expungeLog } from './jobs/expunge-log.js'
import { garbage } from './jobs/garbage.js'
import { optimize } from './jobs/optimize.js'
import { quickCheck } from './jobs/quick-check.js'
import { release } from './jobs/release.js'
import { retention } from './jobs/retention.js'
import { searchIndex } from './jobs/search-index.js'
import { vacuum } from './jobs/vacuum.js'

/** @type {readonly import('./job.js').MaintenanceJob[]} */
export const JOBS = [
  retention,
  expungeLog,
  garbage,
  searchIndex,
  optimize,
  quickCheck,
  vacuum,
  release,
  checkpoint
]
