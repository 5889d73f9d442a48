/**
 * The query planner's statistics: a mailbox that was small when they were made grows.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { findContent } from '../../../../src/store/content-rows.js'
import { readPage } from '../../../../src/store/read-page.js'
import { readPending } from '../../../../src/store/search/pending-rows.js'
import { readStateRows } from '../../../../src/store/view-rows.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  rawHandle
} from '../../../helpers/account-folder.js'
import { explaining } from '../../../helpers/explain.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {AccountStore} store - of a mailbox with a message
 * @returns {Promise<string[]>} tables that are read from their beginning to their end to find single rows
 */
async function scanned(store) {
  const { view } = await store.openView('INBOX')
  /** @type {string[]} */
  const steps = []
  const page = {
    withDates: true,
    columns: /** @type {const} */ (['envelope']),
    previews: /** @type {const} */ ('none')
  }
  await store.searchAccess.database.read((db) => {
    const told = explaining(db, steps)
    findContent(told, randomBytes(32), 1)
    readStateRows(told, { after: 0, end: 2 ** 32 })
    readPage(told, view, [0], page)
    readPending(told, 0, 1)
  })
  store.closeView(view)
  return steps.filter((step) => /^SCAN (?!search_state)/.test(step))
}

for (const [when, make] of /** @type {[string, (store: AccountStore) => Promise<unknown>][]} */ ([
  ['in its maintenance', (store) => store.upkeep.optimize()],
  ['when it was idle', (store) => store.checkpoint()]
]))
  test(`a mailbox that was optimized ${when} with one message looks rows up when it has grown`, async (t) => {
    const account = await accountFolder(t)
    const store = await account.create()
    await appendOne(store, 'INBOX', makeMessage())
    await store.indexSearch()
    await make(store)
    await store.close()

    assert.deepEqual(await scanned(await account.open()), [])
  })

test('statistics of a small mailbox that an earlier version has made are forgotten', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendOne(store, 'INBOX', makeMessage())
  await store.indexSearch()
  const db = rawHandle(account)
  db.exec('ANALYZE')
  db.close()
  await store.upkeep.optimize()
  await store.close()

  assert.deepEqual(await scanned(await account.open()), [])
})
