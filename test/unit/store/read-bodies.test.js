import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { CachePool } from '../../../src/database/pool.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { accountFolder, makeMessage } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../src/store/mailbox-view.js').MailboxView} MailboxView */

const WHOLE = { withTrees: false, withDates: false }

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {number[]} slots
 * @returns {Promise<(Buffer | null)[]>} of all slots; null where the short way has nothing
 */
async function readAll(store, view, slots) {
  /** @type {(Buffer | null)[]} */
  const all = []
  while (all.length < slots.length) {
    const bodies = await store.readBodies(view, slots.slice(all.length), WHOLE)
    assert.ok(bodies.length > 0)
    for (const body of bodies) {
      const target = Buffer.alloc(3 + (body?.size ?? 0) + 1, 0xaa)
      const isSound = body?.unpackInto(target, 3)
      if (isSound) assert.equal(target.readUIntBE(0, 3), 0xaaaaaa)
      all.push(isSound ? target.subarray(3, 3 + (body?.size ?? 0)) : null)
    }
  }
  return all
}

/**
 * @param {number} length
 * @returns {number[]} 0 and so on
 */
const upTo = (length) => Array.from({ length }, (_, index) => index)

test('messages of up to one chunk come as they went in, whatever their size, in any order; longer ones do not', async (t) => {
  const store = await (await accountFolder(t)).create()
  const sizes = [0, 90, 127, 5000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 300_000]
  const mails = sizes.flatMap((size) => [
    makeMessage(`text ${size}`, size),
    Buffer.alloc(size || 1, Buffer.from('a: \0\xff\r\n', 'latin1'))
  ])
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  const { view } = await store.openView('INBOX')
  const expected = mails.map((bytes) => (bytes.length > CHUNK_BYTES ? null : bytes))
  assert.deepEqual(await readAll(store, view, upTo(mails.length)), expected)
  const shuffled = upTo(mails.length).sort((a, b) => ((a * 7) % 16) - ((b * 7) % 16))
  assert.deepEqual(
    await readAll(store, view, shuffled),
    shuffled.map((slot) => expected[slot])
  )
})

test('what the view has learnt stays right when mail comes, goes, and tombstones are dropped', async (t) => {
  const store = await (await accountFolder(t)).create()
  const bodies = upTo(700).map((number) => makeMessage(`number ${number}`, 200))
  const add = (/** @type {number} */ from, /** @type {number} */ to) =>
    appendAll(
      store,
      'INBOX',
      bodies.slice(from, to).map((bytes) => ({ bytes }))
    )
  await add(0, 300)
  const { view } = await store.openView('INBOX')
  assert.deepEqual(await readAll(store, view, [5, 299]), [bodies[5], bodies[299]])
  // Beyond the capacity that the view had.
  await add(300, 700)
  assert.deepEqual(await readAll(store, view, upTo(700)), bodies)
  const gone = upTo(200).map((index) => index * 3 + 1)
  await store.changeFlags({
    view,
    uids: gone,
    action: 'add',
    flags: ['\\Deleted'],
    unchangedSince: null
  })
  await store.expunge({ view, uids: null })
  assert.equal(view.length, 500)
  const left = bodies.filter((_, index) => !gone.includes(index + 1))
  assert.deepEqual(await readAll(store, view, upTo(500)), left)
  await appendAll(store, 'INBOX', [{ bytes: makeMessage('the last') }])
  assert.deepEqual(await readAll(store, view, [500]), [makeMessage('the last')])
})

test('a body that is damaged or gone is none; its neighbours are read', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const bodies = upTo(4).map((number) => makeMessage(`number ${number}`, 2000))
  await appendAll(
    store,
    'INBOX',
    bodies.map((bytes) => ({ bytes }))
  )
  const { view } = await store.openView('INBOX')
  const { db } = openEncryptedDatabase({
    path: `${account.folder}/mail.db`,
    key: account.key,
    cipher: 'chacha20'
  })
  t.after(() => db.close())
  db.exec("UPDATE content_chunks SET data = x'0102' WHERE id / 65536 = 2")
  db.exec('DELETE FROM content_chunks WHERE id / 65536 = 3')
  assert.deepEqual(await readAll(store, view, upTo(4)), [bodies[0], null, null, bodies[3]])
})

test('whoever reads sections of many messages is given more room to keep their pages, as whoever reads whole ones', async (t) => {
  const MiB = 1024 * 1024
  const limits = { totalBytes: 16 * MiB, maxShareBytes: MiB, maxReaderBytes: 8 * MiB }
  const cachePool = new CachePool(limits)
  const store = await (await accountFolder(t)).create({ cachePool })
  const mails = upTo(500).map((number) => ({ bytes: makeMessage(`number ${number}`) }))
  await appendAll(store, 'INBOX', mails)
  const { view } = await store.openView('INBOX')
  const read = async (/** @type {{ withTrees: boolean, withDates: boolean }} */ needs) => {
    let next = 0
    while (next < 500) next += (await store.readBodies(view, upTo(500).slice(next), needs)).length
  }
  await read(WHOLE)
  assert.equal(cachePool.grantedBytes, MiB)
  await read({ withTrees: true, withDates: true })
  assert.equal(cachePool.grantedBytes, 8 * MiB)
})

test('a body comes with its part tree and its date where they are asked for, and not at all where they are not there', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const internalDate = { epochSeconds: 1_700_000_000, zoneMinutes: -90 }
  const mails = upTo(4).map((number) => ({ bytes: makeMessage(`number ${number}`), internalDate }))
  await appendAll(store, 'INBOX', mails)
  const { view } = await store.openView('INBOX')
  const { db } = openEncryptedDatabase({
    path: `${account.folder}/mail.db`,
    key: account.key,
    cipher: 'chacha20'
  })
  t.after(() => db.close())
  const both = { withTrees: true, withDates: true }
  const records = await store.readMessages(view.mailboxId, [1, 2, 3, 4], { partTree: true })
  const before = await store.readBodies(view, upTo(4), both)
  assert.deepEqual(
    before.map((body) => [body?.partTree, body?.internalDate]),
    records.map(({ partTree }) => [partTree, internalDate])
  )
  db.exec('UPDATE message_structures SET builder_version = 0 WHERE content_id = 2')
  db.exec('DELETE FROM messages WHERE content_id = 3')
  const present = async (/** @type {typeof both} */ needs) =>
    (await store.readBodies(view, upTo(4), needs)).map((body) => body !== null)
  assert.deepEqual(await present(both), [true, false, false, true])
  assert.deepEqual(await present({ ...both, withDates: false }), [true, false, true, true])
  assert.deepEqual(await present({ ...both, withTrees: false }), [true, true, false, true])
  await store.indexSearch()
  const packed = await store.readBodies(view, upTo(4), both)
  assert.deepEqual(packed[0]?.partTree, records[0]?.partTree)
})
