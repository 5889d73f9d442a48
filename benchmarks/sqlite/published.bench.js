/**
 * What does the published suite say of each configuration, on this machine, with its faults left in?
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { now, require, requireEqual, timed } from '../lib/question.js'
import { CONFIGURATIONS, SETTLED } from './configurations.js'
import { Connection } from './connection.js'
import { INSERT, countMessages, fill, smallRowOf } from './workload.js'

/** @typedef {import('../lib/question.js').Line} Line */

const ROWS = 1000
const WRITES = 100
const SELECTS = 1000
const MONTH_MS = 30 * 86_400_000

/** @satisfies {readonly Line[]} */
const LINES = /** @type {const} */ ([
  {
    id: 'setup',
    label: 'setup: open, key, pragmas, schema, 1,000 rows in one transaction',
    unit: 'ms',
    better: 'lower',
    reference: 'Node 24.13: 118 ms; without encryption 30 ms'
  },
  {
    id: 'checkpoint',
    label:
      'the checkpoint after it, in a thread that starts for it; the others have theirs in the setup',
    unit: 'ms',
    better: 'lower'
  },
  {
    id: 'insert',
    label: '100 autocommit inserts',
    unit: 'ms',
    better: 'lower',
    reference: 'Node 24.13: 8,761/s; 24,864/s'
  },
  {
    id: 'select',
    label: '1,000 selects of the newest 50',
    unit: 'ms',
    better: 'lower',
    reference: 'Node 24.13: 30,569/s; 31,688/s'
  },
  {
    id: 'update',
    label: '100 autocommit updates of flags',
    unit: 'ms',
    better: 'lower',
    reference: 'Node 24.13: 17,517/s; 44,023/s'
  },
  { id: 'delete', label: 'one delete that matches nothing', unit: 'ms', better: 'lower' },
  { id: 'vacuum', label: 'VACUUM', unit: 'ms', better: 'lower' },
  {
    id: 'size',
    label: 'database file',
    unit: 'bytes',
    better: 'lower',
    reference: '3.98 MB'
  },
  { id: 'wal', label: '-wal file', unit: 'bytes', better: 'lower' }
])

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'published',
  title: 'The published suite, as published',
  notes:
    'Synchronous calls in one process on a fresh file, statements reused, one run a round. Its faults are in: auto_vacuum is set after WAL and stays NONE, the delete deletes nothing, no commit is synced (except OFF and EXTRA, where that is the setting), a sample lasts 5 to 30 ms. Checked: the rows that each select returns, the rows at the end. Letterlock opens with src/database/open.js; its checkpoints run in a thread, as in the server; the rest follows at once, while the thread starts, or, in a line of its own, when the log has been moved into the file, as it has been where SQLite does it at the commit of the setup.',
  warmUp: 'none, as published; every round is a new process',
  lines: LINES,
  contenders: () => [...CONFIGURATIONS, SETTLED],
  async measure({ contender, folder, round }) {
    const { settings } = /** @type {import('./configurations.js').SqliteContender} */ (contender)
    const path = join(folder, `published-${round}.db`)
    const nowMs = Date.now()
    /** @type {Record<string, number[]>} */
    const samples = {}
    const setupStart = now()
    const connection = new Connection(path, settings, { isNew: true })
    const { db } = connection
    fill(db, { rows: ROWS, rowsPerTransaction: ROWS, nowMs })
    samples['setup'] = [now() - setupStart]
    connection.noteCommits()
    if (settings.checkpoints === 'own thread, waited for') {
      const checkpointStart = now()
      require(await connection.settle(), 'a checkpoint after the setup')
      samples['checkpoint'] = [now() - checkpointStart]
    }

    const insert = db.prepare(INSERT)
    const insertMs = each(WRITES, (index) => insert.run(...smallRowOf(2000 + index, nowMs)))
    const select = db.prepare(
      'SELECT id, subject, from_addr, date FROM messages WHERE mailbox_id = ? AND date > ? ORDER BY date DESC LIMIT 50'
    )
    let selected = 0
    const selectMs = each(SELECTS, () => (selected += select.all(1, nowMs - MONTH_MS).length))
    requireEqual(selected, SELECTS * 50, 'rows selected')
    const update = db.prepare('UPDATE messages SET flags = ? WHERE id = ?')
    const updateMs = each(WRITES, (index) => update.run('\\Seen \\Flagged', index + 1))
    samples['insert'] = insertMs.samples
    samples['select'] = selectMs.samples
    samples['update'] = updateMs.samples
    samples['delete'] = [timed(() => db.prepare('DELETE FROM messages WHERE id > 1500').run())]

    requireEqual(countMessages(db), ROWS + WRITES, 'rows at the end')
    requireEqual(countMessages(db, "flags = '\\Seen \\Flagged'"), WRITES, 'rows updated')
    await connection.settle()
    if (!settings.pragmas?.some(([name, value]) => name === 'auto_vacuum' && value === 'FULL'))
      samples['vacuum'] = [timed(() => db.exec('VACUUM'))]
    const { size } = statSync(path)
    samples['size'] = [size]
    samples['wal'] = [statSync(`${path}-wal`).size]
    await connection.close()
    require(statSync(path).size >= ROWS * 3300, 'the file holds the rows')
    return {
      samples,
      rates: { insert: insertMs.rate, select: selectMs.rate, update: updateMs.rate }
    }
  }
}

/**
 * @param {number} count
 * @param {(index: number) => unknown} work
 * @returns {{ samples: number[], rate: number }} each one's time in ms, and how many a second
 */
function each(count, work) {
  const samples = []
  const start = now()
  let before = start
  for (let index = 0; index < count; index++) {
    work(index)
    const after = now()
    samples.push(after - before)
    before = after
  }
  return { samples, rate: (1000 * count) / (before - start) }
}
