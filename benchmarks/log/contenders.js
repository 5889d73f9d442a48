/**
 * Who is compared in the questions about the log, and how each of their files is made.
 */
import { join } from 'node:path'
import { LogStore } from './log-store.js'
import { recordOf } from './records.js'

/**
 * @typedef {import('../lib/question.js').Contender} Contender
 * @typedef {import('../lib/question.js').Run} Run
 * @typedef {import('../lib/question.js').RunOptions} RunOptions
 */

/** @type {import('../sqlite/configurations.js').Settings} */
const PLAIN = {
  engine: 'better-sqlite3',
  cipher: 'none',
  key: 'none',
  pragmas: [
    ['journal_mode', 'WAL'],
    ['synchronous', 'FULL']
  ]
}

/** @type {import('../sqlite/configurations.js').Settings} */
const OWN = {
  engine: 'letterlock',
  cipher: 'chacha20',
  key: 'raw',
  secureDelete: 'ON',
  checkpoints: 'own thread'
}

const AEGIS = { ...OWN, cipher: /** @type {const} */ ('aegis-256') }

/**
 * @param {string} id
 * @param {string} label
 * @param {import('../sqlite/configurations.js').Settings} settings
 * @param {import('./log-store.js').Compression} compression
 * @returns {Contender}
 */
const contender = (id, label, settings, compression) => ({
  id,
  label,
  isPeer: id === 'plain',
  settings: { ...settings, compression }
})

/** @returns {Contender[]} */
export const logContenders = () => [
  contender('plain', 'better-sqlite3', PLAIN, 'none'),
  contender('plain-each', 'better-sqlite3, each record zstd', PLAIN, 'each'),
  contender('plain-block', 'better-sqlite3, blocks of 64 zstd', PLAIN, 'block'),
  contender('own', 'Letterlock’s settings (chacha20)', OWN, 'none'),
  contender('own-each', 'Letterlock’s settings, each record zstd', OWN, 'each'),
  contender('own-block', 'Letterlock’s settings, blocks of 64 zstd', OWN, 'block'),
  contender('aegis-block', 'aegis-256, blocks of 64 zstd', AEGIS, 'block')
]

/** About what a laptop's disk of 5,400 turns gave. */
export const SLOW_DISK = Object.freeze({ bytesPerSecond: 20_000_000, operationsPerSecond: 150 })

export const SLOW_DISK_WORDS = `The kernel lets the contender's process read and write ${SLOW_DISK.bytesPerSecond / 1e6} MB and ${SLOW_DISK.operationsPerSecond} requests a second.`

/** @param {RunOptions} options */
export const logAmounts = ({ isQuick, messages }) => ({
  /** Records in the log. */
  total: messages,
  /** Records that are appended or read at a time. */
  batch: isQuick ? 200 : 5000
})

/**
 * @param {Pick<Run, 'folder' | 'contender'>} run
 * @param {{ isNew: boolean, count: number }} state
 */
export function openLog({ folder, contender: { settings } }, state) {
  const { compression, ...rest } = settings
  return new LogStore(
    join(folder, 'log.db'),
    /** @type {import('../sqlite/configurations.js').Settings} */ (rest),
    /** @type {import('./log-store.js').Compression} */ (compression),
    state
  )
}

/**
 * @param {number} seed
 * @param {number} first
 * @param {number} count
 */
export const recordsOf = (seed, first, count) =>
  Array.from({ length: count }, (_, index) => recordOf(seed, first + index))

/**
 * Makes and fills the contender's log.
 *
 * @param {Run} run
 */
export async function fillLog(run) {
  const { seed } = run.options
  const { total, batch } = logAmounts(run.options)
  const log = openLog(run, { isNew: true, count: 0 })
  while (log.count < total) {
    await log.append(recordsOf(seed, log.count, Math.min(batch, total - log.count)))
    run.progress(log.count, total)
  }
  await log.close()
  return {}
}
