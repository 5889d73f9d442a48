/**
 * What do the same configurations do when the suite's faults are corrected: auto_vacuum that works, deletes that
 * delete, commits that are on the disk, samples that last, a file that does not fit in the cache, cold and warm?
 */
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { dropFromPageCache } from '../lib/page-cache.js'
import { now, require, requireEqual, timed } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { CONFIGURATIONS, withCorrectedOrder } from './configurations.js'
import { Connection } from './connection.js'
import { INSERT, countMessages, fill, smallRowOf } from './workload.js'

/** @typedef {import('../lib/question.js').RunOptions} RunOptions */

const MINUTE_MS = 60_000

/** @type {readonly import('../lib/question.js').Line[]} */
const LINES = [
  { id: 'fill', label: 'fill, 1,000 rows a transaction', unit: 'ms', better: 'lower' },
  {
    id: 'cold',
    label: 'select 50 at a random date, cold: page cache of the kernel dropped, file just opened',
    unit: 'ms',
    better: 'lower'
  },
  { id: 'warm', label: 'the same selects again', unit: 'ms', better: 'lower' },
  { id: 'raw', label: 'read one random raw message', unit: 'ms', better: 'lower' },
  { id: 'insert', label: 'autocommit insert, as configured', unit: 'ms', better: 'lower' },
  { id: 'update', label: 'autocommit update of a random row', unit: 'ms', better: 'lower' },
  { id: 'durable', label: 'autocommit insert, on the disk', unit: 'ms', better: 'lower' },
  {
    id: 'group',
    label: '16 autocommit inserts at once, all on the disk',
    unit: 'ms',
    better: 'lower'
  },
  { id: 'delete', label: 'autocommit delete of a random row', unit: 'ms', better: 'lower' },
  { id: 'bulk', label: 'delete a tenth of the rows, one statement', unit: 'ms', better: 'lower' },
  { id: 'size', label: 'database file after it, checkpointed', unit: 'bytes', better: 'lower' }
]

/** @param {RunOptions} options */
const amounts = ({ isQuick, messages }) => ({
  rows: messages,
  selects: isQuick ? 50 : 500,
  writes: isQuick ? 50 : 2000,
  durable: isQuick ? 20 : 300,
  groups: isQuick ? 3 : 40
})

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'corrected',
  title: 'The suite with its faults corrected',
  notes:
    'auto_vacuum before WAL; `optimize` last; as many rows as --messages says; every operation timed by itself. "On the disk": synchronous=FULL for that phase, and for Letterlock NORMAL with a shared fdatasync of the -wal after the commit, as its store does. Checked: each select gives 50 rows in order from the date asked for, each raw message is the one asked for, counts after every phase, the auto_vacuum that the file really has.',
  warmUp:
    'one select before the warm ones are timed (they repeat the cold ones); writes follow the reads in the same process',
  lines: LINES,
  contenders: () => CONFIGURATIONS.map(withCorrectedOrder),
  rounds: ({ rounds, isQuick }) => (isQuick ? 1 : Math.min(rounds, 3)),
  async measure({ contender, options, folder, round, progress }) {
    const { settings } = /** @type {import('./configurations.js').SqliteContender} */ (contender)
    const { rows, selects, writes, durable, groups } = amounts(options)
    const path = join(folder, `corrected-${round}.db`)
    const nowMs = Date.now()
    const random = new Random(options.seed + round)
    /** @type {Record<string, number[]>} */
    const samples = {}

    const filled = new Connection(path, settings, { isNew: true })
    const onTransaction = (/** @type {number} */ done) => {
      filled.noteCommits()
      progress(done, rows)
    }
    samples['fill'] = [
      timed(() => fill(filled.db, { rows, rowsPerTransaction: 1000, nowMs, onTransaction }))
    ]
    requireEqual(countMessages(filled.db), rows, 'rows filled')
    const autoVacuum = Number(filled.db.pragma('auto_vacuum', { simple: true }))
    requireEqual(autoVacuum, expectedAutoVacuum(settings), 'auto_vacuum of the file')
    await filled.close()

    const isCold = dropFromPageCache(path)
    const connection = new Connection(path, settings, { isNew: false })
    const { db } = connection
    const select = db.prepare(
      'SELECT id, subject, from_addr, date FROM messages WHERE mailbox_id = 1 AND date <= ? ORDER BY date DESC LIMIT 50'
    )
    const places = Array.from({ length: selects }, () => 1 + random.below(rows - 50))
    const selectAt = (/** @type {number} */ place) => {
      const found = /** @type {{ id: number }[]} */ (select.all(nowMs - place * MINUTE_MS))
      require(found.length === 50 &&
        found[0]?.id === place &&
        found[49]?.id === place + 49, 'rows from the date on')
    }
    samples['cold'] = places.map((place) => timed(() => selectAt(place)))
    selectAt(1)
    samples['warm'] = places.map((place) => timed(() => selectAt(place)))
    const raw = db.prepare('SELECT raw FROM messages WHERE id = ?').pluck()
    samples['raw'] = places.map((place) =>
      timed(() => {
        const bytes = /** @type {Buffer} */ (raw.get(place))
        require(bytes.includes(`no. ${place}, `), 'the raw message that was asked for')
      })
    )

    let uid = rows
    const insert = db.prepare(INSERT)
    const insertNext = () => insert.run(...smallRowOf(++uid, nowMs))
    const commit = (/** @type {() => unknown} */ work) => {
      const took = timed(work)
      connection.noteCommits()
      return took
    }
    samples['insert'] = Array.from({ length: writes }, () => commit(insertNext))
    const update = db.prepare('UPDATE messages SET flags = ? WHERE id = ?')
    const updated = new Set(Array.from({ length: writes }, () => 1 + random.below(rows)))
    samples['update'] = [...updated].map((id) => commit(() => update.run('\\Seen \\Flagged', id)))
    requireEqual(countMessages(db, "flags = '\\Seen \\Flagged'"), updated.size, 'rows updated')
    await connection.settle()

    // Deletes before the durable writes: those change `synchronous`.
    const gone = new Set(Array.from({ length: writes >> 1 }, () => 1 + random.below(rows)))
    const remove = db.prepare('DELETE FROM messages WHERE id = ?')
    let deleted = 0
    samples['delete'] = [...gone].map((id) => commit(() => (deleted += remove.run(id).changes)))
    requireEqual(deleted, gone.size, 'rows deleted')
    await connection.settle()
    const before = countMessages(db)
    let bulk = 0
    samples['bulk'] = [
      commit(() => {
        bulk = db.prepare('DELETE FROM messages WHERE id % 10 = 3').run().changes
      })
    ]
    requireEqual(countMessages(db), before - bulk, 'rows after the large delete')
    require(bulk >= rows / 20, 'the large delete deletes')
    await connection.settle()

    connection.makeDurable()
    samples['durable'] = []
    samples['group'] = []
    for (let count = 0; count < durable; count++)
      samples['durable'].push(await durably(connection, insertNext))
    for (let count = 0; count < groups; count++) {
      samples['group'].push(
        await durably(connection, () => Array.from({ length: 16 }, () => insertNext()))
      )
    }
    requireEqual(
      countMessages(db),
      before - bulk + durable + groups * 16,
      'rows after the durable inserts'
    )
    await connection.close()
    samples['size'] = [statSync(path).size]
    rmSync(path)
    return {
      samples,
      facts: { 'auto_vacuum of the file': autoVacuum, 'cold reads from the disk': `${isCold}` }
    }
  }
}

/**
 * @param {Connection} connection
 * @param {() => unknown} work - commits
 * @returns {Promise<number>} milliseconds until it is on the disk
 */
async function durably(connection, work) {
  const start = now()
  work()
  await connection.durable()
  const took = now() - start
  connection.noteCommits()
  return took
}

/**
 * @param {import('./configurations.js').Settings} settings
 * @returns {number} 0 NONE, 1 FULL, 2 INCREMENTAL
 */
function expectedAutoVacuum({ engine, pragmas = [] }) {
  if (engine === 'letterlock') return 2
  const value = pragmas.findLast(([name]) => name === 'auto_vacuum')?.[1] ?? 'NONE'
  return ['NONE', 'FULL', 'INCREMENTAL'].indexOf(String(value))
}
