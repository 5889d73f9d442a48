/**
 * Where the pages of a list end, and what comes with them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  appendTogether,
  listedMail,
  readList,
  setUpLists,
  slotsOf
} from '../../helpers/packed-lists.js'

test('the messages of a mailbox that lie far apart come in pages that bound what is in memory', async (t) => {
  const { store, view } = await setUpLists(t)
  await store.createMailbox('Other')
  const long = `X-Spam-Status: ${'word '.repeat(1200)}\r\n`
  const mails = Array.from({ length: 660 }, (_, number) => listedMail(number, { extra: long }))
  await appendTogether(store, 'INBOX', mails)
  const uids = Array.from({ length: 16 }, (_, index) => index * 32 + 1)
  await store.copyMessages({ from: view, uids, toMailbox: 'Other' })
  const { view: other } = await store.openView('Other')
  const before = await readList(store, other, 16, ['envelope'])
  const fields = await readList(store, other, 16, ['fields'])
  await store.indexSearch()
  assert.deepEqual(await readList(store, other, 16, ['envelope']), before)
  const first = await store.readPage(other, slotsOf(other, 1, 16), {
    withDates: false,
    columns: ['fields'],
    previews: 'none'
  })
  assert.equal(first?.isWhole, false)
  assert.deepEqual(await readList(store, other, 16, ['fields']), fields)
})

test('a page ends before a message of which something has to be made, and goes on behind it', async (t) => {
  const { store, view, db } = await setUpLists(t)
  await appendTogether(
    store,
    'INBOX',
    Array.from({ length: 9 }, (_, number) => listedMail(number))
  )
  db.exec('UPDATE message_envelopes SET builder_version = 0 WHERE content_id = 5')
  /** @type {import('../../../src/store/read-page.js').PageNeeds} */
  const needs = { withDates: true, columns: ['bodyStructure', 'envelope'], previews: 'none' }
  const uidsFrom = async (/** @type {number} */ uid) =>
    (await store.readPage(view, slotsOf(view, uid, 9), needs))?.uids
  assert.deepEqual(await uidsFrom(1), [1, 2, 3, 4])
  assert.equal(await uidsFrom(5), undefined)
  assert.deepEqual(await uidsFrom(6), [6, 7, 8, 9])
  // What is asked for does not have to be made.
  const { uids } = /** @type {import('../../../src/store/read-page.js').MessagePage} */ (
    await store.readPage(view, slotsOf(view, 1, 9), { ...needs, columns: ['fields'] })
  )
  assert.equal(uids.length, 9)
})

test('previews come with a list once they have been made', async (t) => {
  const { store, view } = await setUpLists(t)
  await appendTogether(
    store,
    'INBOX',
    Array.from({ length: 5 }, (_, number) => listedMail(number))
  )
  const slots = slotsOf(view, 1, 5)
  const read = async (/** @type {'kept' | 'all'} */ previews, from = 0) => {
    const page = await store.readPage(view, slots.slice(from), {
      withDates: false,
      columns: [],
      previews
    })
    return page?.previews
  }
  assert.equal(await read('all'), undefined)
  assert.deepEqual(await read('kept'), [null, null, null, null, null])
  const records = await store.readMessages(view.mailboxId, [1, 2, 4], { partTree: true })
  assert.deepEqual(await store.readPreviews(records, { isLazy: false }), [
    'Text 0',
    'Text 1',
    'Text 3'
  ])
  assert.deepEqual(await read('all'), ['Text 0', 'Text 1'])
  assert.equal(await read('all', 2), undefined)
  assert.deepEqual(await read('kept'), ['Text 0', 'Text 1', null, 'Text 3', null])
})
