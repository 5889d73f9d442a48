/**
 * How long does it take to open a mailbox that is there, and to close it again?
 */
import { dirname, join } from 'node:path'
import { createAccountStore, openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { now, require, requireEqual, timed } from '../lib/question.js'
import { CONFIGURATIONS, withCorrectedOrder } from './configurations.js'
import { Connection } from './connection.js'
import { fill } from './workload.js'

/** @typedef {import('../lib/question.js').Contender} Contender */

const COMPARED = ['plain', 'production', 'aegis', 'letterlock', 'letterlock-aegis']
const STORE_KEY = Buffer.alloc(32, 0x5a)

/** @type {Contender} */
const STORE = {
  id: 'store',
  label: 'Letterlock, whole store',
  isPeer: false,
  settings: { engine: 'src/store/account-store.js', cipher: 'chacha20', key: 'raw' }
}

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'open',
  title: 'Open and close a mailbox',
  notes:
    'A file of up to 20,000 rows (the store: its own schema, empty). open: file, key, pragmas and the first read; close: with what SQLite and the store do then. Checked: the first read gives the row that is there. The whole store takes its lock, checks its schema and reads its keywords as well.',
  warmUp: 'five opens that are not counted; the file is in the page cache',
  lines: [
    { id: 'open', label: 'open and first read', unit: 'ms', better: 'lower' },
    { id: 'close', label: 'close', unit: 'ms', better: 'lower' }
  ],
  contenders: () => [
    ...CONFIGURATIONS.filter(({ id }) => COMPARED.includes(id)).map((contender) => ({
      ...withCorrectedOrder(contender),
      isPeer: contender.id === 'plain'
    })),
    STORE
  ],
  async prepare({ contender, folder, options }) {
    if (contender.id === STORE.id) {
      const store = await createAccountStore(storeOptions(folder))
      await store.close()
      return {}
    }
    const connection = new Connection(join(folder, 'open.db'), settingsOf(contender), {
      isNew: true
    })
    const rows = Math.min(options.messages, 20_000)
    fill(connection.db, { rows, rowsPerTransaction: 1000, nowMs: Date.now() })
    await connection.close()
    return {}
  },
  async measure({ contender, folder, options }) {
    const count = options.isQuick ? 10 : 200
    /** @type {{ open: number[], close: number[] }} */
    const samples = { open: [], close: [] }
    for (let index = -5; index < count; index++) {
      const [open, close] =
        contender.id === STORE.id
          ? await openStore(folder)
          : await openConnection(join(folder, 'open.db'), settingsOf(contender))
      if (index < 0) continue
      samples.open.push(open)
      samples.close.push(close)
    }
    return { samples }
  }
}

/** @param {Contender} contender */
const settingsOf = (contender) =>
  /** @type {import('./configurations.js').SqliteContender} */ (contender).settings

/** @param {string} folder */
const storeOptions = (folder) => ({
  folder: join(dirname(folder), 'store', 'account'),
  key: STORE_KEY,
  clock: systemClock
})

/**
 * @param {string} path
 * @param {import('./configurations.js').Settings} settings
 * @returns {Promise<[open: number, close: number]>}
 */
async function openConnection(path, settings) {
  const start = now()
  const connection = new Connection(path, settings, { isNew: false })
  const name = connection.db.prepare('SELECT name FROM mailboxes').pluck().get()
  const open = now() - start
  requireEqual(name, 'INBOX', 'the first read')
  const close = timed(() => connection.db.close())
  await connection.close()
  return [open, close]
}

/**
 * @param {string} folder
 * @returns {Promise<[open: number, close: number]>}
 */
async function openStore(folder) {
  const start = now()
  const store = await openAccountStore(storeOptions(folder))
  const mailboxes = await store.listMailboxes()
  const opened = now()
  require(mailboxes.some(({ name }) => name === 'INBOX'), 'the first read')
  const closing = now()
  await store.close()
  return [opened - start, now() - closing]
}
