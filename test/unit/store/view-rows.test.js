import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { runTransaction } from '../../../src/database/transaction.js'
import { messageRowId } from '../../../src/store/row-ids.js'
import { ThreadDatabase } from '../../../src/store/search/thread-database.js'
import { readAllRows, readChangedRows } from '../../../src/store/view-rows.js'
import { accountFolder, appendOne } from '../../helpers/account-folder.js'

/** @typedef {[uid: number, modSeq: number, flags: number, keywords: number]} Row */

/** Rows that are read at once. */
const PAGE_ROWS = 5000

/**
 * @param {import('node:test').TestContext} t
 * @param {readonly Row[]} rows - by UID
 */
async function mailboxOf(t, rows) {
  const { folder, key, create } = await accountFolder(t)
  const store = await create()
  await appendOne(store, 'Drafts', Buffer.from('Subject: whose content all have\r\n\r\n'))
  await store.close()
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  const id = /** @type {number} */ (
    db.prepare("SELECT id FROM mailboxes WHERE name = 'INBOX'").pluck().get()
  )
  const insert = db.prepare(
    'INSERT INTO messages SELECT ?, ?, ?, ?, 0, 0, 0, size, content_id FROM messages LIMIT 1'
  )
  runTransaction(db, () => {
    for (const [uid, ...state] of rows) insert.run(messageRowId(id, uid), ...state)
  })
  const source = new ThreadDatabase(db)
  /** @param {number} uidNext */
  const all = async (uidNext) => {
    /** @type {Row[]} */
    const read = []
    await readAllRows(source, { id, uidNext }, { append: (...row) => read.push(row) })
    return read
  }
  /** @param {number} since */
  const changed = async (since) => {
    /** @type {Row[]} */
    const read = []
    await readChangedRows(source, { id, uidNext: 2 ** 32 }, since, {
      append: (...row) => read.push(row)
    })
    return read
  }
  return { all, changed }
}

test('every flag, keyword and MODSEQ is read as it is, in pages of which some have room for all in one number', async (t) => {
  /** @type {Row[]} */
  const rows = []
  for (let uid = 1; uid <= 4 * PAGE_ROWS; uid++) rows.push([uid, 1 + (uid >> 3), uid % 32, 0])
  /**
   * @param {number} at
   * @param {Partial<{ modSeq: number, flags: number, keywords: number }>} change
   */
  const set = (at, change) => {
    const [uid, oldModSeq, oldFlags, oldKeywords] = /** @type {Row} */ (rows[at])
    const { modSeq = oldModSeq, flags = oldFlags, keywords = oldKeywords } = change
    rows[at] = [uid, modSeq, flags, keywords]
  }
  set(10, { flags: 65_535, modSeq: 2 ** 37 - 1 })
  set(20, { modSeq: 0 })
  set(PAGE_ROWS + 1, { flags: 65_536 })
  set(2 * PAGE_ROWS + 2, { keywords: 2 ** 31 })
  set(2 * PAGE_ROWS + 3, { flags: 2 ** 32 - 1, keywords: 2 ** 32 - 1 })
  set(4 * PAGE_ROWS - 1, { modSeq: 2 ** 37 })
  const { all, changed } = await mailboxOf(t, rows)
  assert.deepEqual(await all(2 ** 32), rows)
  assert.deepEqual(await all(4 * PAGE_ROWS + 1), rows)
  assert.deepEqual(await all(4 * PAGE_ROWS), rows.slice(0, -1))
  assert.deepEqual(
    await changed(2000),
    rows.filter(([, modSeq]) => modSeq > 2000)
  )
})

test('UIDs are read wherever they lie, up to the highest', async (t) => {
  /** @type {Row[]} */
  const rows = []
  for (let uid = 1; uid <= 40_000; uid += 1 + (uid % 7)) rows.push([uid, uid, 1, 0])
  for (const uid of [10 ** 6, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 2, 2 ** 32 - 1])
    rows.push([uid, 1, 0, 0])
  const { all, changed } = await mailboxOf(t, rows)
  assert.deepEqual(await all(2 ** 32), rows)
  assert.deepEqual(await changed(0), rows)
  assert.deepEqual((await all(2 ** 32 - 1)).at(-1), [2 ** 32 - 2, 1, 0, 0])
  const { all: none } = await mailboxOf(t, [])
  assert.deepEqual(await none(1), [])
  assert.deepEqual(await none(2 ** 32), [])
})
