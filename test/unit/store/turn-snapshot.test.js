/**
 * Messages that are read by commands that came together are read from one state of the file; whatever else is done with the
 * file meanwhile is done on what is there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3-multiple-ciphers'
import { TurnSnapshot } from '../../../src/store/turn-snapshot.js'
import { accountFolder, appendOne, makeMessage, rawHandle } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

const WHOLE = { withTrees: false, withDates: false, wholeBytes: Infinity }
const HEADERS = { withTrees: true, withDates: true, wholeBytes: 0 }

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

/** @param {import('node:test').TestContext} t */
function openMemoryDatabase(t) {
  const db = new Database(':memory:')
  db.pragma('foreign_keys = ON')
  t.after(() => db.close())
  return db
}

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  // Together, so that their part trees are stored with them.
  const mails = Array.from({ length: 4 }, (_, number) => makeMessage(`number ${number}`))
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  const { view } = await store.openView('INBOX')
  await store.checkpoint()
  const beside = rawHandle(account)
  t.after(() => beside.close())
  beside.pragma('busy_timeout = 0')
  // Fails while anybody reads from the file as it is.
  const mayTruncate = () => {
    beside.prepare('UPDATE mailboxes SET uid_next = uid_next + 1').run()
    const [{ busy }] = /** @type {[{ busy: number }]} */ (beside.pragma('wal_checkpoint(TRUNCATE)'))
    return busy === 0
  }
  return { account, store, view, beside, mayTruncate }
}

test('the state of the file is kept from one reading to the next, and no longer than the turn', async (t) => {
  const { store, view, mayTruncate } = await setup(t)
  assert.equal(mayTruncate(), true)
  for (const needs of [WHOLE, HEADERS]) {
    const [body] = await store.readBodies(view, [0], needs, true)
    assert.ok(body)
    assert.equal(mayTruncate(), false)
    assert.ok((await store.readBodies(view, [1], needs, true))[0])
    assert.ok((await store.readBodies(view, [2, 3], needs, false))[1])
    assert.equal(mayTruncate(), false)
    await setImmediate()
    assert.equal(mayTruncate(), true)
  }
})

test('for what is read by itself nothing is kept', async (t) => {
  const { store, view, mayTruncate } = await setup(t)
  assert.ok((await store.readBodies(view, [0], WHOLE, false))[0])
  assert.equal(mayTruncate(), true)
  assert.ok((await store.readBodies(view, [0, 1], HEADERS))[1])
  assert.equal(mayTruncate(), true)
})

/** @type {[string, (store: AccountStore) => Promise<unknown>][]} */
const OTHERS = [
  ['a read', (store) => store.usage()],
  ['rows of messages', (store) => store.readMessages(1, [1], { envelope: true })],
  ['a look for what others have written', async (store) => store.pollOtherProcesses()],
  ['a list', async (store) => store.readPage((await store.openView('INBOX')).view, [0], PAGE)]
]
const PAGE = /** @type {const} */ ({ withDates: false, columns: ['envelope'], previews: 'none' })

for (const [what, run] of OTHERS)
  test(`${what} in the same turn ends it, and the next reading begins anew`, async (t) => {
    const { store, view, mayTruncate } = await setup(t)
    assert.ok((await store.readBodies(view, [0], WHOLE, true))[0])
    const other = run(store)
    assert.equal(mayTruncate(), true)
    await other
    assert.ok((await store.readBodies(view, [1], WHOLE, true))[0])
    assert.equal(mayTruncate(), false)
    assert.ok((await store.readBodies(view, [2], WHOLE, false))[0])
    await setImmediate()
    assert.equal(mayTruncate(), true)
  })

test('a write in the same turn finds no transaction in its way', async (t) => {
  const { store, view, mayTruncate } = await setup(t)
  const [bodies] = await Promise.all([
    store.readBodies(view, [0], WHOLE, true),
    store.createMailbox('new')
  ])
  assert.ok(bodies[0])
  assert.equal(mayTruncate(), true)
})

test('what has just come from another process is not there, and is found by who looks for the row', async (t) => {
  const { account, store, view } = await setup(t)
  const there = await account.open()
  const reading = store.readBodies(view, [0], WHOLE, true)
  await appendOne(there, 'INBOX', makeMessage('of the other'))
  assert.ok((await reading)[0])
  const [record] = await store.readMessages(view.mailboxId, [5], { content: true })
  assert.deepEqual(record?.content, makeMessage('of the other'))
})

test('where it cannot be ended, nobody is told but who uses the connection next', async (t) => {
  const db = openMemoryDatabase(t)
  db.exec(
    'CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES a DEFERRABLE INITIALLY DEFERRED)'
  )
  const snapshot = new TurnSnapshot()
  // Any COMMIT fails while a row lacks what it refers to.
  snapshot.read(db, () => db.exec('INSERT INTO a VALUES (1, 2)'), true)
  await setImmediate()
  assert.throws(() => snapshot.end(), { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })
  db.exec('DELETE FROM a')
  snapshot.end()
  assert.equal(db.inTransaction, false)
})

test('a store that is closed at once, and a file that goes to sleep, leave nothing behind', async (t) => {
  const { account, store, view, mayTruncate } = await setup(t)
  assert.ok((await store.readBodies(view, [0], WHOLE, true))[0])
  await store.close()
  await setImmediate()
  assert.equal(mayTruncate(), true)
  const again = await account.open()
  const { view: same } = await again.openView('INBOX')
  assert.ok((await again.readBodies(same, [1], WHOLE, true))[0])
})
