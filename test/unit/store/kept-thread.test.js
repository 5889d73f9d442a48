import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { COPY_INLINE } from '../../../src/store/copy-move.js'
import { endStoreThreads, prepareStoreThreads } from '../../../src/store/store-threads.js'
import { accountFolder, appendMany } from '../../helpers/account-folder.js'

/** @import { Worker } from 'node:worker_threads' */

test('a server has a thread ready for the long jobs of users, and ends it when it ends', async (t) => {
  const starts = /** @type {Promise<[Worker]>} */ (once(process, 'worker'))
  prepareStoreThreads()
  const [prepared] = await starts
  let hasEnded = false
  prepared.once('exit', () => (hasEnded = true))

  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const uids = await appendMany(store, 'INBOX', COPY_INLINE + 1)
  /** @type {string[]} */
  const told = []
  prepared.on('message', ({ kind }) => told.push(kind))
  await store.copyMessages({ from: view, uids, toMailbox: 'Sent' })
  assert.deepEqual(told, ['done'])
  // The last connection to a file takes its log away: the thread that goes on has none any more.
  await store.close()
  assert.equal(existsSync(`${account.folder}/mail.db-wal`), false)

  await endStoreThreads()
  assert.ok(hasEnded)
})
