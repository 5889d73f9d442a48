/**
 * Messages are copied and moved.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import {
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  rawHandle,
  sweepAll
} from '../../helpers/account-folder.js'
import { nextWrite } from '../../helpers/lock-writers.js'
import { firstUids, openInbox } from '../../helpers/open-inbox.js'

for (const count of [5, 2300]) {
  test(`copying ${count} messages shares their contents and keeps flags and dates`, async (t) => {
    const { store, view } = await openInbox(t)
    await appendMany(store, 'INBOX', count, ['\\Flagged', '$Work'])
    await appendOne(store, 'Sent', makeMessage('there before'))
    const target = (await store.openView('Sent')).view
    const attachment = target.attach(() => {})
    const result = await store.copyMessages({
      from: view,
      uids: [...firstUids(count), 999_999],
      toMailbox: 'Sent'
    })
    assert.deepEqual([...result.sourceUids], firstUids(count))
    assert.deepEqual(
      [...result.uids],
      firstUids(count).map((uid) => uid + 1)
    )
    assert.equal(result.uidValidity, target.uidValidity)
    assert.deepEqual(attachment.take(), [{ kind: 'append', fromSlot: 1, toSlot: count + 1 }])
    const [source] = await store.readMessages(view.mailboxId, [1], {})
    const [copy] = await store.readMessages(target.mailboxId, [2], {})
    assert.ok(source && copy)
    assert.deepEqual({ ...copy, uid: 1, modSeq: 2, savedAtMs: 0 }, { ...source, savedAtMs: 0 })
    assert.equal(view.aliveCount, count)
    assert.deepEqual((await store.verify()).contents, 2)
  })

  test(`moving ${count} messages tells both mailboxes`, async (t) => {
    const { store, view } = await openInbox(t)
    await appendMany(store, 'INBOX', count + 1)
    const target = (await store.openView('Sent')).view
    const attachments = [view.attach(() => {}), target.attach(() => {})]
    const origin = 'me'
    const after = view.highestModSeq
    await store.moveMessages({ from: view, uids: firstUids(count), toMailbox: 'Sent', origin })
    assert.deepEqual(aliveUids(view), [count + 1])
    assert.deepEqual(aliveUids(target), firstUids(count))
    assert.deepEqual(attachments[0]?.take(), [
      { kind: 'expunge', slots: firstUids(count).map((uid) => uid - 1), after, origin }
    ])
    assert.deepEqual(attachments[1]?.take(), [{ kind: 'append', fromSlot: 0, toSlot: count }])
    assert.deepEqual((await store.verify()).problems, [])
  })
}

test('moving within one mailbox gives new UIDs', async (t) => {
  const { store, view } = await openInbox(t)
  await appendMany(store, 'INBOX', 3)
  const { uids } = await store.moveMessages({ from: view, uids: [1, 3], toMailbox: 'INBOX' })
  assert.deepEqual([...uids], [4, 5])
  assert.deepEqual(aliveUids(view), [2, 4, 5])
  assert.equal(view.highestModSeq, (await store.mailboxStatus('INBOX')).highestModSeq)
})

test('copying to a mailbox that is not there answers MAILBOX_NOT_FOUND', async (t) => {
  const { store, view } = await openInbox(t)
  await appendMany(store, 'INBOX', 1)
  await assert.rejects(store.copyMessages({ from: view, uids: [1], toMailbox: 'Nowhere' }), {
    code: 'MAILBOX_NOT_FOUND'
  })
})

test('a copy in a thread that fails changes nothing and says why', async (t) => {
  const { store, view } = await openInbox(t)
  const uids = await appendMany(store, 'INBOX', 2100)
  await assert.rejects(store.copyMessages({ from: view, uids, toMailbox: 'Nowhere' }), {
    code: 'MAILBOX_NOT_FOUND'
  })
  assert.deepEqual(await store.usage(), {
    bytes: 2100 * makeMessage('the same').length,
    messages: 2100
  })
})

test('a copy in a thread is told of before it writes, and waits until another process has written', async (t) => {
  const { store, view, folder, key } = await openInbox(t)
  await appendMany(store, 'INBOX', 2300)
  await store.indexSearch()
  const other = rawHandle({ folder, key })
  t.after(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const writing = nextWrite(store)
  const copying = store.copyMessages({ from: view, uids: firstUids(2300), toMailbox: 'Sent' })
  await Promise.race([writing, copying])
  // By then the thread waits.
  await sleep(500)
  other.exec('ROLLBACK')
  assert.equal((await copying).uids.length, 2300)
})

test('writes go on while a large copy runs in its thread, and every view ends up right', async (t) => {
  const { store, view } = await openInbox(t)
  const uids = await appendMany(store, 'INBOX', 2500)
  const target = (await store.openView('Sent')).view
  const copying = store.copyMessages({ from: view, uids, toMailbox: 'Sent' })
  for (let i = 0; i < 30; i++) {
    await appendOne(store, 'Sent', makeMessage(`between ${i}`))
    await store.changeFlags({ view, uids: [i + 1], action: 'add', flags: ['\\Flagged'] })
  }
  await copying
  assert.equal(target.aliveCount, 2530)
  const status = await store.mailboxStatus('Sent')
  assert.deepEqual([target.highestModSeq, target.uidNext], [status.highestModSeq, status.uidNext])
  assert.deepEqual((await store.verify()).problems, [])
})

test('a move leaves nothing to the sweep: the contents are in use', async (t) => {
  // It would begin by itself.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, view, folder, key } = await openInbox(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  await store.moveMessages({ from: view, uids: [1], toMailbox: 'Archive' })
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  assert.equal(db.prepare('SELECT count(*) FROM garbage_contents').pluck().get(), 0)
  const archive = await store.openView('Archive')
  await store.changeFlags({ view: archive.view, uids: [1], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view: archive.view, uids: null })
  assert.equal(db.prepare('SELECT count(*) FROM garbage_contents').pluck().get(), 1)
  await sweepAll(store)
  assert.equal((await store.verify()).contents, 0)
})

test('MODSEQ only rises, whatever is done', async (t) => {
  const { store, view } = await openInbox(t)
  let last = view.highestModSeq
  const steps = [
    () => appendMany(store, 'INBOX', 3),
    () => store.changeFlags({ view, uids: [1], action: 'add', flags: ['\\Deleted'] }),
    () => store.copyMessages({ from: view, uids: [1], toMailbox: 'INBOX' }),
    () => store.expunge({ view, uids: null }),
    () => store.moveMessages({ from: view, uids: [2], toMailbox: 'Sent' })
  ]
  for (const step of steps) {
    await step()
    const { highestModSeq } = await store.mailboxStatus('INBOX')
    assert.ok(highestModSeq > last)
    assert.equal(view.highestModSeq, highestModSeq)
    last = highestModSeq
  }
})
