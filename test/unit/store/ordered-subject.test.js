/**
 * THREAD=ORDEREDSUBJECT of more subjects than few, and of messages that go meanwhile.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadMessages } from '../../../src/store/threading/thread-messages.js'
import { accountFolder } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {import('../../../src/store/mailbox-view.js').MailboxView} view
 * @returns {Promise<number[][]>} UIDs by thread
 */
async function threads(store, view) {
  const slots = [...Array(view.length).keys()]
  const request = /** @type {const} */ ({ store, view, slots, algorithm: 'ORDEREDSUBJECT' })
  const { heads, containers } = await threadMessages(request)
  return [...heads].map((head) => {
    const thread = [head]
    let child = containers.firstChildOf(head)
    for (; child !== 0; child = containers.nextSiblingOf(child)) thread.push(child)
    return thread.map((container) => view.uids[containers.slotOf(container)] ?? 0)
  })
}

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {readonly string[]} subjects - of messages each of which was sent a minute before the one that came before it
 */
const append = (store, subjects) =>
  appendAll(
    store,
    'INBOX',
    subjects.map((subject, nth) => {
      const sent = new Date(Date.UTC(2022, 0, 1) - nth * 60_000).toUTCString()
      return { bytes: Buffer.from(`Subject: ${subject}\r\nDate: ${sent}\r\n\r\nx\r\n`) }
    })
  )

test('threads of very many subjects are in the order of their first messages (RFC 5256 §3)', async (t) => {
  const store = await (await accountFolder(t)).create()
  const many = 600
  await append(
    store,
    Array.from({ length: 2 * many }, (_, nth) => `${(nth * 7) % many}`)
  )
  const expected = Array.from({ length: many }, (_, nth) => [2 * many - nth, many - nth])
  const { view } = await store.openView('INBOX')
  assert.deepEqual(await threads(store, view), expected)
})

test('a message that another process has expunged meanwhile is in no thread', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await append(store, ['tea', 'tea', 'coffee', 'bread', 'coffee'])
  const { view } = await store.openView('INBOX')
  const there = await account.open()
  const theirs = (await there.openView('INBOX')).view
  await there.changeFlags({ view: theirs, uids: [2, 3], action: 'add', flags: ['\\Deleted'] })
  await there.expunge({ view: theirs, uids: [2, 3] })
  assert.equal(view.aliveCount, 5, 'nothing is known of it')
  assert.deepEqual(await threads(store, view), [[5], [4], [1]])
})
