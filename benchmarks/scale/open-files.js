/**
 * Does it matter to one mailbox how many others are open in the process? `npx node benchmarks/scale/open-files.js`: rows of
 * one, two and 32 pages, read again and again, while ever more other files are open. SQLite3 Multiple Ciphers goes through a
 * list of them before it reads an overflow page.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { now } from '../lib/question.js'
import { median } from '../lib/statistics.js'

const OTHERS = [0, 200, 500, 1000]
const ROWS = { 'one page': 3000, 'two pages': 6500, '32 pages': 130_000 }
const SAMPLES = 30
const READS = 50

const folder = mkdtempSync(join(tmpdir(), 'letterlock-open-files-'))
const key = randomBytes(32)

/** @param {string} name */
function open(name) {
  const { db } = openEncryptedDatabase({
    ...{ path: join(folder, name), key, cipher: 'chacha20', isNew: true, cacheBytes: 8 << 20 }
  })
  db.exec('CREATE TABLE chunks (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT')
  return db
}

// As the one that was opened first it stands at the end of the list.
const mailbox = open('mailbox.db')
const insert = mailbox.prepare('INSERT INTO chunks VALUES (?, ?)')
Object.values(ROWS).forEach((bytes, index) => insert.run(index, randomBytes(bytes)))
mailbox.pragma('wal_checkpoint(TRUNCATE)')
const read = mailbox.prepare('SELECT data FROM chunks WHERE id = ?').pluck()

/** @param {number} id */
function microseconds(id) {
  const samples = Array.from({ length: SAMPLES }, () => {
    const start = now()
    for (let count = 0; count < READS; count++) read.get(id)
    return (1000 * (now() - start)) / READS
  })
  return `${median(samples).toFixed(1)} µs`
}

console.log(`| other open files | ${Object.keys(ROWS).join(' | ')} |\n| --- | --- | --- | --- |`)
const others = []
for (const count of OTHERS) {
  while (others.length < count) others.push(open(`${others.length}.db`))
  const figures = Object.keys(ROWS).map((_, id) => microseconds(id))
  console.log(`| ${count} | ${figures.join(' | ')} |`)
}
for (const db of [mailbox, ...others]) db.close()
rmSync(folder, { recursive: true, force: true })
