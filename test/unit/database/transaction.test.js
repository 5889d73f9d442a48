import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlainDatabase } from '../../../src/database/open.js'
import { retryWhileBusy, runSnapshot, runTransaction } from '../../../src/database/transaction.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const path = join(await scratchFolder(t), 'a.db')
  const open = () => {
    const db = openPlainDatabase(path, { timeoutMs: 0 })
    t.after(() => db.close())
    return db
  }
  const db = open()
  db.exec('CREATE TABLE t (a)')
  const count = () => db.prepare('SELECT count(*) AS n FROM t').get()
  return { db, open, count }
}

test('a transaction is all or nothing', async (t) => {
  const { db, count } = await setup(t)
  runTransaction(db, () => db.exec('INSERT INTO t VALUES (1)'))
  const failing = () =>
    runTransaction(db, () => {
      db.exec('INSERT INTO t VALUES (2)')
      throw new Error('no')
    })
  assert.throws(failing, /no/)
  assert.deepEqual(count(), { n: 1 })
  assert.equal(db.inTransaction, false)
})

test('a transaction refuses work that returns a promise, and keeps nothing of it', async (t) => {
  const { db, count } = await setup(t)
  const waiting = () =>
    runTransaction(db, async () => {
      db.exec('INSERT INTO t VALUES (1)')
    })
  assert.throws(waiting, TypeError)
  assert.deepEqual(count(), { n: 0 })
})

test('a snapshot shows one moment, whatever others write meanwhile, and ends with its work', async (t) => {
  const { db, open, count } = await setup(t)
  db.pragma('journal_mode = WAL')
  const other = open()
  runSnapshot(db, () => {
    assert.deepEqual(count(), { n: 0 })
    other.exec('INSERT INTO t VALUES (1)')
    assert.deepEqual(count(), { n: 0 })
  })
  assert.deepEqual(count(), { n: 1 })
  const failing = () => {
    throw new Error('no')
  }
  assert.throws(() => runSnapshot(db, failing), /no/)
  assert.equal(db.inTransaction, false)
})

test('a taken lock is waited for without blocking, and the work then done once', async (t) => {
  const { db, open, count } = await setup(t)
  const other = open()
  other.exec('BEGIN IMMEDIATE')
  const written = retryWhileBusy(
    () => runTransaction(db, () => db.exec('INSERT INTO t VALUES (1)')),
    { busyTimeoutMs: 10_000 }
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
  other.exec('COMMIT')
  await written
  assert.deepEqual(count(), { n: 1 })
})

test('a lock that stays answers BUSY after the timeout', async (t) => {
  const { db, open } = await setup(t)
  const other = open()
  other.exec('BEGIN IMMEDIATE')
  const written = retryWhileBusy(() => runTransaction(db, () => {}), { busyTimeoutMs: 30 })
  await assert.rejects(written, { code: 'BUSY', temporary: true })
})

test('what is no lock is thrown at once', async () => {
  let tries = 0
  const work = () => {
    tries++
    throw new RangeError('fault')
  }
  await assert.rejects(retryWhileBusy(work, { busyTimeoutMs: 10_000 }), RangeError)
  assert.equal(tries, 1)
})

test('waiting ends when it is aborted', async (t) => {
  const { db, open } = await setup(t)
  open().exec('BEGIN IMMEDIATE')
  const abort = new AbortController()
  const options = { busyTimeoutMs: 10_000, signal: abort.signal }
  const written = retryWhileBusy(() => runTransaction(db, () => {}), options)
  setTimeout(() => abort.abort(), 5)
  await assert.rejects(written, { name: 'AbortError' })
})
