import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { CachePool } from '../../../src/database/pool.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { LONG_BODY_BYTES } from '../../../src/store/long-body.js'
import { StoredBody } from '../../../src/store/read-bodies.js'
import { accountFolder, makeMessage, rawHandle } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../src/store/mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('../../../src/store/read-bodies.js').LongBody} LongBody */

const WHOLE = { withTrees: false, withDates: false, wholeBytes: Infinity }

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {number[]} slots
 * @returns {Promise<(Buffer | null)[]>} of all slots; null where the fast path has nothing
 */
async function readAll(store, view, slots) {
  /** @type {(Buffer | null)[]} */
  const all = []
  while (all.length < slots.length) {
    const bodies = await store.readBodies(view, slots.slice(all.length), WHOLE)
    assert.ok(bodies.length > 0)
    all.push(...bodies.map((body) => body && bytesOf(body)))
  }
  return all
}

/**
 * @param {StoredBody | LongBody} body
 * @returns {Buffer | null} null: it is damaged
 */
function bytesOf(body) {
  if (!(body instanceof StoredBody)) return Buffer.concat(body.pieces)
  const target = Buffer.alloc(3 + body.size + 1, 0xaa)
  if (!body.unpackInto(target, 3)) return null
  assert.equal(target.readUIntBE(0, 3), 0xaaaaaa)
  return target.subarray(3, 3 + body.size)
}

/**
 * @param {StoredBody | LongBody | null | undefined} body
 * @returns {[Buffer | null | undefined, StoredBody['internalDate'] | undefined]} its part tree and its date
 */
const treeAndDateOf = (body) => [
  body instanceof StoredBody ? body.partTree : undefined,
  body?.internalDate
]

/** @param {number} outputLength - bytes */
const noise = (outputLength) => createHash('shake256', { outputLength }).update('x').digest()

/**
 * @param {number} length
 * @returns {number[]} 0 and so on
 */
const upTo = (length) => Array.from({ length }, (_, index) => index)

test('messages come as they went in, whatever their size, in any order; very long ones do not', async (t) => {
  const store = await (await accountFolder(t)).create()
  const sizes = [0, 90, 5000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 300_000]
  sizes.push(LONG_BODY_BYTES, LONG_BODY_BYTES + 1)
  const mails = sizes.flatMap((size) => [
    makeMessage(`text ${size}`, size),
    Buffer.alloc(size || 1, Buffer.from('a: \0\xff\r\n', 'latin1')),
    Buffer.concat([Buffer.from('Subject: noise\r\n\r\n'), noise(size)]),
    Buffer.from(`${noise(size).toString('base64').replace(/.{76}/g, '$&\r\n')}.`)
  ])
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  const { view } = await store.openView('INBOX')
  const expected = mails.map((bytes) => (bytes.length > LONG_BODY_BYTES ? null : bytes))
  assert.equal(expected.filter((bytes) => (bytes?.length ?? 0) > CHUNK_BYTES).length, 14)
  assert.deepEqual(await readAll(store, view, upTo(mails.length)), expected)
  const shuffled = upTo(mails.length).sort((a, b) => ((a * 7) % 36) - ((b * 7) % 36))
  assert.deepEqual(
    await readAll(store, view, shuffled),
    shuffled.map((slot) => expected[slot])
  )
})

test('of a long message parts, and a beginning that is not all of it, are read in another way', async (t) => {
  const store = await (await accountFolder(t)).create()
  const mail = makeMessage('long', CHUNK_BYTES + 1)
  await appendAll(store, 'INBOX', [{ bytes: mail }])
  const { view } = await store.openView('INBOX')
  const read = (/** @type {Partial<typeof WHOLE>} */ needs) =>
    store.readBodies(view, [0], { ...WHOLE, ...needs })
  assert.deepEqual(await read({ withTrees: true, wholeBytes: 0 }), [null])
  assert.deepEqual(await read({ wholeBytes: mail.length - 1 }), [null])
  const [body] = await read({ wholeBytes: mail.length })
  assert.deepEqual(body && bytesOf(body), mail)
})

for (const [kind, body] of /** @type {const} */ ([
  ['text, in chunks of 128 KiB', makeMessage('long', 300_000)],
  ['noise, stored as it is in chunks of 32 KiB', noise(300_000)]
]))
  test(`a long message of which a chunk is missing, too much or damaged is none: ${kind}`, async (t) => {
    const account = await accountFolder(t)
    const store = await account.create()
    await appendAll(store, 'INBOX', [{ bytes: body }, { bytes: makeMessage('another') }])
    const { view } = await store.openView('INBOX')
    const db = rawHandle(account)
    t.after(() => db.close())
    const whole = [body, makeMessage('another')]
    const chunks = /** @type {{ id: number }[]} */ (
      db.prepare('SELECT id FROM content_chunks WHERE id / 65536 = 1 ORDER BY id').all()
    )
    assert.ok(chunks.length > 2)
    const last = /** @type {number} */ (chunks.at(-1)?.id)
    const faults = [
      ...chunks.map(({ id }) => `DELETE FROM content_chunks WHERE id = ${id}`),
      ...chunks.map(({ id }) => `UPDATE content_chunks SET data = x'0102' WHERE id = ${id}`),
      `DELETE FROM content_chunks WHERE id BETWEEN 65537 AND ${last}`,
      'DELETE FROM content_chunks WHERE id / 65536 = 1',
      `INSERT INTO content_chunks (id, codec, data) SELECT id + 1, codec, data FROM content_chunks WHERE id = ${last}`
    ]
    for (const fault of faults) {
      const backup = db.prepare('SELECT id, codec, data FROM content_chunks').all()
      db.exec(fault)
      assert.deepEqual(await readAll(store, view, [0, 1]), [null, whole[1]], fault)
      db.exec('DELETE FROM content_chunks')
      const insert = db.prepare('INSERT INTO content_chunks VALUES (@id, @codec, @data)')
      for (const row of backup) insert.run(row)
    }
    assert.deepEqual(await readAll(store, view, [0, 1]), whole)
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
  const db = rawHandle(account)
  t.after(() => db.close())
  db.exec("UPDATE content_chunks SET data = x'0102' WHERE id / 65536 = 2")
  db.exec('DELETE FROM content_chunks WHERE id / 65536 = 3')
  assert.deepEqual(await readAll(store, view, upTo(4)), [bodies[0], null, null, bodies[3]])
})

const SECTIONS = { withTrees: true, withDates: true, wholeBytes: 0 }
/** @type {import('../../../src/store/read-page.js').PageNeeds} */
const LIST = { withDates: true, columns: [], previews: 'none' }

/** @type {[string, (store: AccountStore, view: MailboxView, slots: number[]) => Promise<number>][]} with how many were read */
const WAYS = [
  ['whole', async (store, ...asked) => (await store.readBodies(...asked, WHOLE)).length],
  ['in sections', async (store, ...asked) => (await store.readBodies(...asked, SECTIONS)).length],
  [
    'for a list',
    async (store, ...asked) => (await store.readPage(...asked, LIST))?.uids.length ?? 0
  ]
]

for (const [how, read] of WAYS) {
  test(`whoever reads many messages ${how} is given more room to keep their pages`, async (t) => {
    const MiB = 1024 * 1024
    const limits = { totalBytes: 16 * MiB, maxShareBytes: MiB, maxReaderBytes: 8 * MiB }
    const cachePool = new CachePool(limits)
    const store = await (await accountFolder(t)).create({ cachePool })
    const mails = upTo(500).map((number) => ({ bytes: makeMessage(`number ${number}`) }))
    await appendAll(store, 'INBOX', mails)
    const { view } = await store.openView('INBOX')
    const readAllOnce = async () => {
      let next = 0
      while (next < 500) next += await read(store, view, upTo(500).slice(next))
    }
    await readAllOnce()
    assert.equal(cachePool.grantedBytes, MiB)
    await readAllOnce()
    assert.equal(cachePool.grantedBytes, 8 * MiB)
  })
}

test('a body comes with its part tree and its date where they are asked for, and not at all where they are not there', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const internalDate = { epochSeconds: 1_700_000_000, zoneMinutes: -90 }
  const mails = upTo(4).map((number) => ({ bytes: makeMessage(`number ${number}`), internalDate }))
  await appendAll(store, 'INBOX', mails)
  const { view } = await store.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  const both = { withTrees: true, withDates: true, wholeBytes: 0 }
  const records = await store.readMessages(view.mailboxId, [1, 2, 3, 4], { partTree: true })
  const before = await store.readBodies(view, upTo(4), both)
  assert.deepEqual(
    before.map(treeAndDateOf),
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
  assert.deepEqual(treeAndDateOf(packed[0])[0], records[0]?.partTree)
})
