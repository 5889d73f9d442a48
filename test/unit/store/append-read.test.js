import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import {
  accountFolder,
  appendOne,
  collect,
  makeMessage,
  readBytes,
  stage,
  sweepAll
} from '../../helpers/account-folder.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../helpers/corpus.js'
import { ManualClock } from '../../helpers/manual-clock.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../../src/store/account-store.js').StoreOptions>} [options]
 */
async function setup(t, options) {
  const account = await accountFolder(t)
  const store = await account.create(options)
  const { view } = await store.openView('INBOX')
  const database = () => {
    const { db } = openEncryptedDatabase({
      path: `${account.folder}/mail.db`,
      key: account.key,
      cipher: 'chacha20',
      isReadOnly: true
    })
    t.after(() => db.close())
    return db
  }
  return { ...account, store, view, database }
}

test(
  'corpus messages come back byte for byte, also after reopening',
  { skip: corpusIsMissing },
  async (t) => {
    const { store, view, open } = await setup(t)
    /** @type {Map<number, string>} */
    const hashes = new Map()
    const hashOf = (/** @type {Buffer} */ bytes) => createHash('sha256').update(bytes).digest('hex')
    for (const messages of [everydayMessages({ every: 43 }), tortureMessages({ every: 5 })])
      for (const { bytes } of messages)
        hashes.set(await appendOne(store, 'INBOX', bytes), hashOf(bytes))
    assert.ok(hashes.size > 200)
    const check = async (/** @type {typeof store} */ from) => {
      for (const [uid, hash] of hashes)
        assert.equal(hashOf(await readBytes(from, view, uid)), hash, `UID ${uid}`)
    }
    await check(store)
    await store.close()
    await check(await open())
  }
)

const sizes = [
  0,
  1,
  CHUNK_BYTES - 1,
  CHUNK_BYTES,
  CHUNK_BYTES + 1,
  2 * CHUNK_BYTES,
  2 * CHUNK_BYTES + 1,
  900_001
]

test('messages around the chunk and staging boundaries come back whole, whatever the pieces', async (t) => {
  const { store, view } = await setup(t)
  for (const size of sizes) {
    const bytes = size < 100 ? Buffer.alloc(size, 65) : makeMessage(`size ${size}`, size)
    for (const piece of [size + 1, 100_003]) {
      const content = await stage(store, bytes, piece)
      const { uids } = await store.appendMessages('INBOX', [
        { content, flags: [], internalDate: null }
      ])
      assert.deepEqual(
        await readBytes(store, view, uids[0] ?? 0),
        bytes,
        `size ${size}, pieces of ${piece}`
      )
    }
  }
})

test('equal messages are stored once, small or staged', async (t) => {
  const { store, view, database } = await setup(t)
  const messages = [makeMessage('small'), makeMessage('large', 700_000)]
  const uids = []
  for (const bytes of [...messages, ...messages]) uids.push(await appendOne(store, 'INBOX', bytes))
  await sweepAll(store)
  assert.deepEqual(database().prepare('SELECT count(*) AS n FROM contents').get(), { n: 2 })
  for (const [index, uid] of uids.entries())
    assert.deepEqual(await readBytes(store, view, uid), messages[index % 2])
  assert.deepEqual((await store.verify()).problems, [])
})

test('messages of one append share a transaction, a modseq and consecutive UIDs', async (t) => {
  const { store, view } = await setup(t)
  const attachment = view.attach(() => {})
  const messages = []
  for (const text of ['a', 'b', 'c'])
    messages.push({ content: await stage(store, makeMessage(text)), flags: [], internalDate: null })
  const { uids, uidValidity } = await store.appendMessages('INBOX', messages)
  assert.deepEqual(uids, [1, 2, 3])
  assert.equal(uidValidity, view.uidValidity)
  assert.deepEqual(attachment.take(), [{ kind: 'append', fromSlot: 0, toSlot: 3 }])
  assert.deepEqual([...view.modSeqs.subarray(0, 3)], [2, 2, 2])
})

test('of an append that fails nothing stays', async (t) => {
  const { store, view } = await setup(t)
  const content = await stage(store, makeMessage('x'))
  const bad = { content, flags: ['\\Nonsense'], internalDate: null }
  await assert.rejects(
    store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }, bad]),
    {
      code: 'CANNOT'
    }
  )
  await assert.rejects(
    store.appendMessages('Nowhere', [{ content, flags: [], internalDate: null }]),
    {
      code: 'MAILBOX_NOT_FOUND'
    }
  )
  assert.equal((await store.mailboxStatus('INBOX')).uidNext, 1)
  assert.equal(view.length, 0)
})

test('dates, sizes and what MIME makes of a message are read back as far as they are asked for', async (t) => {
  const clock = new ManualClock()
  const { store, view } = await setup(t, { clock })
  const bytes = Buffer.from(
    'Subject: Re: words\r\nDate: Mon, 1 Jan 2024 10:00:00 +0200\r\nMessage-ID: <1@x>\r\n\r\nbody\r\n'
  )
  const content = await stage(store, bytes)
  const internalDate = { epochSeconds: -5, zoneMinutes: -90 }
  await store.appendMessages('INBOX', [{ content, flags: ['\\Seen'], internalDate }])
  const [narrow] = await store.readMessages(view.mailboxId, [1], { row: true })
  assert.deepEqual(narrow, {
    uid: 1,
    modSeq: 2,
    flags: 1,
    keywords: 0,
    size: bytes.length,
    internalDate,
    savedAtMs: clock.ms,
    contentId: narrow?.contentId
  })
  const [full] = await store.readMessages(view.mailboxId, [1], {
    envelope: true,
    body: true,
    bodyStructure: true,
    header: true,
    partTree: true,
    search: true
  })
  assert.ok(full)
  assert.ok(full.envelope?.toString().startsWith('("Mon, 1 Jan 2024'))
  assert.ok(full.body && full.bodyStructure && full.partTree)
  assert.equal(full.header?.toString(), bytes.toString().replace('body\r\n', ''))
  assert.deepEqual(full.sentDate, { epochSeconds: 1704096000, zoneMinutes: 120 })
  assert.equal(full.baseSubject?.toLowerCase(), 'words')
  assert.deepEqual(full.references, [])
})

test('an internal date that is not given is now', async (t) => {
  const clock = new ManualClock(1_700_000_000_999)
  const { store, view } = await setup(t, { clock })
  await appendOne(store, 'INBOX', makeMessage())
  const [record] = await store.readMessages(view.mailboxId, [1], {})
  assert.deepEqual(record?.internalDate, { epochSeconds: 1_700_000_000, zoneMinutes: 0 })
})

test('messages that are not there are left out, however the UIDs lie', async (t) => {
  const { store, view } = await setup(t)
  for (let i = 0; i < 9; i++) await appendOne(store, 'INBOX', makeMessage(`m${i}`))
  await store.changeFlags({ view, uids: [3, 4, 8], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  const read = async (/** @type {number[]} */ uids) =>
    (await store.readMessages(view.mailboxId, uids, { envelope: true })).map(({ uid }) => uid)
  assert.deepEqual(await read([1, 2, 3, 4, 5, 6, 7, 8, 9]), [1, 2, 5, 6, 7, 9])
  assert.deepEqual(await read([1, 3, 9, 4000]), [1, 9])
  // As many as were asked for, but not the same.
  assert.deepEqual(await read([3, 5]), [5])
  assert.deepEqual(await read([2, 4, 6]), [2, 6])
  assert.deepEqual(await read([4, 6, 8]), [6])
  assert.deepEqual(await read([]), [])
  await assert.rejects(read(Array.from({ length: 501 }, (_, i) => i + 1)), RangeError)
})

test('rows that an older MIME builder made, or that are missing, are made again when they are read', async (t) => {
  const { store: first, view, folder, key, open } = await setup(t)
  const bytes = makeMessage('renew', 400_000)
  await appendOne(first, 'INBOX', bytes)
  await appendOne(first, 'INBOX', makeMessage('other'))
  await first.close()
  const store = await open()
  const needs = { envelope: true, bodyStructure: true, header: true, partTree: true, search: true }
  const before = await store.readMessages(view.mailboxId, [1, 2], needs)
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  const spoil = () =>
    db.exec(`UPDATE message_meta SET builder_version = 0, base_subject = '' WHERE content_id = 1;
      UPDATE message_envelopes SET builder_version = 0, envelope = x'00' WHERE content_id = 1;
      UPDATE message_structures SET builder_version = 0, part_tree = x'00' WHERE content_id = 1;
      UPDATE message_fields SET builder_version = 0, fields = x'00' WHERE content_id = 1;
      DELETE FROM message_meta WHERE content_id = 2; DELETE FROM message_envelopes WHERE content_id = 2;
      DELETE FROM message_structures WHERE content_id = 2; DELETE FROM message_fields WHERE content_id = 2`)
  spoil()
  const reader = await open({ isReadOnly: true })
  assert.deepEqual(await reader.readMessages(view.mailboxId, [1, 2], needs), before)
  assert.deepEqual(await store.readMessages(view.mailboxId, [1, 2], needs), before)
  await store.close()
  const old = db.prepare('SELECT count(*) AS n FROM message_meta WHERE builder_version > 0').get()
  assert.deepEqual(old, { n: 2 })
})

test('what is too big is refused before and while it comes, and leaves nothing', async (t) => {
  const { store, database } = await setup(t, { config: { maxMessageBytes: 600_000 } })
  await assert.rejects(store.checkAppend({ mailboxName: 'INBOX', sizeBytes: 600_001 }), {
    code: 'TOO_BIG'
  })
  await store.checkAppend({ mailboxName: 'INBOX', sizeBytes: 600_000 })
  await assert.rejects(stage(store, makeMessage('big', 600_001)), { code: 'TOO_BIG' })
  await sweepAll(store)
  assert.deepEqual(database().prepare('SELECT count(*) AS n FROM content_chunks').get(), { n: 0 })
})

test('an aborted message leaves nothing, and aborting one that was added does no harm', async (t) => {
  const { store, view, database } = await setup(t)
  const bytes = makeMessage('abort', 900_000)
  const writer = await store.stageContent()
  await writer.write(bytes)
  await writer.abort()
  await assert.rejects(writer.write(bytes), { code: 'CANNOT' })
  const second = await store.stageContent()
  await second.write(bytes)
  const content = await second.finish()
  await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  await second.abort()
  await sweepAll(store)
  assert.deepEqual(await readBytes(store, view, 1), bytes)
  assert.deepEqual(database().prepare('SELECT count(*) AS n FROM contents').get(), { n: 1 })
})

test('content that was staged and never added is collected after an hour, not before', async (t) => {
  const clock = new ManualClock()
  const { store, open, database } = await setup(t, { clock })
  const writer = await store.stageContent()
  await writer.write(makeMessage('abandoned', 900_000))
  await store.close()
  const count = () => database().prepare('SELECT count(*) AS n FROM content_chunks').get()
  clock.advance(59 * 60_000)
  const early = await open({ clock })
  const chunks = count()
  // There is something for the sweep to do.
  const aborted = await early.stageContent()
  await aborted.write(makeMessage('aborted', 900_000))
  await aborted.abort()
  await early.upkeep.sweep()
  assert.deepEqual(count(), chunks)
  clock.advance(2 * 60_000)
  await early.upkeep.sweep()
  assert.deepEqual(count(), { n: 0 })
})

test('what fills the quota to its last byte is taken, and what goes beyond it is not', async (t) => {
  const bytes = makeMessage('exactly')
  const { store } = await setup(t, { config: { quotaBytes: 2 * bytes.length } })
  const content = await stage(store, bytes)
  const message = { content, flags: [], internalDate: null }
  await store.checkAppend({ mailboxName: 'INBOX', sizeBytes: 2 * bytes.length })
  await store.appendMessages('INBOX', [message, message])
  await assert.rejects(store.checkAppend({ mailboxName: 'INBOX', sizeBytes: 1 }), {
    code: 'OVER_QUOTA'
  })
})

test('the quota counts each copy; draining is exempt', async (t) => {
  const config = { quotaBytes: 1000, quotaMessages: 2 }
  const { store, view } = await setup(t, { config })
  const content = await stage(store, makeMessage('quota'))
  const message = { content, flags: [], internalDate: null }
  await assert.rejects(store.checkAppend({ mailboxName: 'INBOX', sizeBytes: 1001 }), {
    code: 'OVER_QUOTA'
  })
  await store.checkAppend({ mailboxName: 'INBOX', sizeBytes: 1001, isQuotaExempt: true })
  await assert.rejects(store.appendMessages('INBOX', [message, message, message]), {
    code: 'OVER_QUOTA'
  })
  await store.appendMessages('INBOX', [message, message])
  await assert.rejects(store.appendMessages('INBOX', [message]), { code: 'OVER_QUOTA' })
  await assert.rejects(store.copyMessages({ from: view, uids: [1], toMailbox: 'Sent' }), {
    code: 'OVER_QUOTA'
  })
  await store.moveMessages({ from: view, uids: [1], toMailbox: 'Sent' })
  await store.appendMessages('INBOX', [message], { isQuotaExempt: true })
  assert.deepEqual(await store.usage(), { bytes: 3 * content.size, messages: 3 })
})

test('a spool file or import key brings its message in once', async (t) => {
  const { store, view } = await setup(t)
  const content = await stage(store, makeMessage('once'))
  const importKey = Buffer.from('archive.mbox 17')
  const message = { content, flags: [], internalDate: null, spoolName: 'abc.sealed', importKey }
  assert.deepEqual(await store.listDrained(), [])
  assert.deepEqual((await store.appendMessages('INBOX', [message])).uids, [1])
  assert.deepEqual((await store.appendMessages('INBOX', [message])).uids, [0])
  assert.equal(await store.hasImportKey(importKey), true)
  assert.equal(await store.hasImportKey(Buffer.from('other')), false)
  assert.deepEqual(await store.listDrained(), ['abc.sealed'])
  await store.forgetDrained(['abc.sealed'])
  assert.deepEqual(await store.listDrained(), [])
  assert.equal(view.length, 1)
})

test('reading a content that is gone answers MESSAGE_GONE', async (t) => {
  const { store } = await setup(t)
  await assert.rejects(collect(store.readContent(4711)), { code: 'MESSAGE_GONE' })
})
