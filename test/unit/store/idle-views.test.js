/**
 * Views that outlive their last user, within one budget for all accounts of a process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleViews } from '../../../src/store/idle-views.js'
import { appendAll, temporaryStore } from '../../helpers/temporary-store.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

const MAILS = Array.from({ length: 40 }, (_, n) => ({
  bytes: Buffer.from(`Subject: ${n}\r\n\r\n`)
}))

/**
 * @param {AccountStore} store
 * @param {string} name
 */
async function openAndClose(store, name) {
  const { view } = await store.openView(name)
  store.closeView(view)
  return view
}

test('a closed view is there again, and has seen what happened meanwhile', async (t) => {
  const store = await temporaryStore(t)
  const view = await openAndClose(store, 'INBOX')
  await appendAll(store, 'INBOX', MAILS)
  const again = await openAndClose(store, 'INBOX')
  assert.equal(again, view)
  assert.notEqual(again.slotOf(40), -1)
})

test('a view that is closed after its store is not kept', async (t) => {
  const idleViews = new IdleViews({ totalBytes: 1 << 20 })
  const store = await temporaryStore(t, { idleViews })
  const { view } = await store.openView('INBOX')
  await store.close()
  store.closeView(view)
  assert.equal(idleViews.usedBytes, 0)
})

test('accounts share one budget: the view that was closed first makes room', async (t) => {
  const probe = await temporaryStore(t)
  await appendAll(probe, 'INBOX', MAILS)
  const { bytes } = await openAndClose(probe, 'INBOX')

  const idleViews = new IdleViews({ totalBytes: 2 * bytes })
  const stores = []
  for (let n = 0; n < 3; n++) {
    const store = await temporaryStore(t, { idleViews })
    await appendAll(store, 'INBOX', MAILS)
    stores.push(store)
  }
  const [first, second, third] = /** @type {[AccountStore, AccountStore, AccountStore]} */ (stores)
  const one = await openAndClose(first, 'INBOX')
  const two = await openAndClose(second, 'INBOX')
  assert.equal(idleViews.usedBytes, 2 * bytes)
  // In use, and then closed once more: the second is the oldest now.
  assert.equal(await openAndClose(first, 'INBOX'), one)
  await openAndClose(third, 'INBOX')
  assert.equal(idleViews.usedBytes, 2 * bytes)
  assert.equal(await openAndClose(first, 'INBOX'), one)
  const anew = await openAndClose(second, 'INBOX')
  assert.notEqual(anew, two)
  assert.deepEqual([...anew.uids.subarray(0, 40)], [...two.uids.subarray(0, 40)])

  await second.close()
  assert.equal(idleViews.usedBytes, bytes)
  await first.close()
  await third.close()
  assert.equal(idleViews.usedBytes, 0)
})

test('a view in use is not counted, nor is that of a mailbox that was deleted', async (t) => {
  const idleViews = new IdleViews({ totalBytes: 1 << 20 })
  const store = await temporaryStore(t, { idleViews })
  const { view } = await store.openView('INBOX')
  assert.equal(idleViews.usedBytes, 0)
  store.closeView(view)
  assert.equal(idleViews.usedBytes, view.bytes)
  await store.createMailbox('Work')
  await openAndClose(store, 'Work')
  assert.equal(store.viewBytes, 2 * view.bytes)
  await store.deleteMailbox('Work')
  assert.equal(idleViews.usedBytes, view.bytes)
  assert.equal(store.viewBytes, view.bytes)
})

test('without a budget nothing is kept', async (t) => {
  const store = await temporaryStore(t, { idleViews: new IdleViews({ totalBytes: 0 }) })
  const view = await openAndClose(store, 'INBOX')
  assert.notEqual(await openAndClose(store, 'INBOX'), view)
})
