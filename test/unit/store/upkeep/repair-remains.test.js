/**
 * Salvage of messages whose own rows are lost: what other tables, and free pages, still know of them.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { SEEN } from '../../../../src/store/flags.js'
import { MAX_UID } from '../../../../src/store/row-ids.js'
import {
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  rawHandle
} from '../../../helpers/account-folder.js'
import { damagePage, pagesOf } from '../../../helpers/damage-page.js'
import { chunkAsBefore } from '../../../helpers/older-chunks.js'
import { everything, fill, setUp } from '../../../helpers/repair.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

test('a message is saved by what its copies know of it', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create()
  await appendMany(store, 'INBOX', 300)
  const before = await everything(store)
  await store.close()
  damagePage(path, pagesOf(path, key, 'messages', 'leaf')[0] ?? 0)
  damagePage(path, pagesOf(path, key, 'contents', 'leaf')[0] ?? 0)
  const { lost, withoutFlags } = (await repair()).report
  assert.deepEqual(lost, [])
  assert.ok(withoutFlags.length > 0)
  for (const [name, { bytes }] of await everything(await open()))
    assert.deepEqual(bytes, before.get(name)?.bytes)
})

for (const isOlder of [false, true]) {
  const whose = isOlder ? ' that an older version has stored' : ''
  test(`a long message${whose} is saved where nothing but its chunks and its length are left`, async (t) => {
    const { create, open, repair, path, folder, key } = await setUp(t)
    const store = await create()
    for (const size of [200, 131_073, 300_000]) await appendOne(store, 'INBOX', randomBytes(size))
    await store.checkpoint()
    const before = await everything(store)
    await store.close()
    if (isOlder) assert.equal(chunkAsBefore({ folder, key }), 2)
    for (const page of pagesOf(path, key, 'contents', 'leaf')) damagePage(path, page)
    const { report } = await repair()
    assert.deepEqual([report.salvaged, report.lost], [3, []])
    const again = await open()
    assert.deepEqual(await everything(again), before)
    assert.deepEqual((await again.verify()).problems, [])
  })
}

test('a message whose bytes are no longer those that came is lost, and told as such', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create()
  for (const text of ['one', 'two', 'three']) await appendOne(store, 'INBOX', makeMessage(text))
  const before = await everything(store)
  await store.close()
  const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20' })
  const contentOf = 'SELECT content_id FROM messages ORDER BY id LIMIT 1 OFFSET 1'
  db.exec(`UPDATE contents SET hash = zeroblob(32) WHERE id = (${contentOf})`)
  db.close()
  const { lost, salvaged } = (await repair()).report
  assert.deepEqual(
    lost.map(({ mailbox, uid }) => `${mailbox} ${uid}`),
    ['INBOX 2']
  )
  assert.equal(salvaged, 2)
  const after = await open()
  const saved = await everything(after)
  assert.deepEqual([...saved.keys()], ['INBOX 1', 'INBOX 3'])
  for (const [place, { bytes }] of saved) assert.deepEqual(bytes, before.get(place)?.bytes)
  assert.deepEqual((await after.verify()).problems, [])
})

test('keywords whose page is lost keep their names and numbers', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create()
  await fill(store)
  const before = await everything(store)
  await store.close()
  for (const page of pagesOf(path, key, 'keywords', 'leaf')) damagePage(path, page)
  assert.deepEqual((await repair()).report.withoutFlags, [])
  const again = await open()
  assert.deepEqual(await everything(again), before)
  assert.deepEqual(again.keywords.names, ['tag'])
})

test('where the names of keywords are lost, no message has the next one that is made', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create()
  const tagged = await appendOne(store, 'INBOX', makeMessage('tagged'), ['\\Seen', 'tag'])
  await appendOne(store, 'INBOX', makeMessage('plain'), ['\\Seen'])
  const before = await everything(store)
  await store.close()
  for (const tree of ['keywords', 'sqlite_autoindex_keywords_1'])
    for (const page of pagesOf(path, key, tree, 'leaf')) damagePage(path, page)
  const { withoutFlags } = (await repair()).report
  assert.deepEqual(withoutFlags, [{ mailbox: 'INBOX', uid: tagged }])
  const again = await open()
  await appendOne(again, 'INBOX', makeMessage('new'), ['other'])
  const after = await everything(again)
  for (const name of before.keys()) assert.equal(after.get(name)?.flags, SEEN, name)
  // Who knows it by its flags of before is told.
  const name = `INBOX ${tagged}`
  assert.ok(Number(after.get(name)?.modSeq) > Number(before.get(name)?.modSeq))
})

test('a mailbox whose row is lost is saved, however high its UIDs are', async (t) => {
  const { create, open, repair, path, folder, key } = await setUp(t)
  const store = await create()
  const db = rawHandle({ folder, key })
  db.prepare('UPDATE mailboxes SET uid_next = ?').run(MAX_UID - 1)
  db.close()
  await appendOne(store, 'INBOX', makeMessage('late'))
  await store.close()
  for (const page of pagesOf(path, key, 'mailboxes', 'leaf')) damagePage(path, page)
  assert.deepEqual((await repair()).report.lost, [])
  const again = await open()
  assert.deepEqual([...(await everything(again)).keys()], [`INBOX ${MAX_UID - 1}`])
  assert.deepEqual((await again.verify()).problems, [])
})

test('a mailbox whose name is lost too gets one that no other has, and there is an INBOX again', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create()
  const inboxId = (await store.openView('INBOX')).view.mailboxId
  const taken = `Recovered ${inboxId}`
  // So many that its row is on another page.
  for (let nth = 0; nth < 200; nth++) await store.createMailbox(`folder ${nth}`)
  await store.createMailbox(taken)
  await appendOne(store, 'INBOX', makeMessage('of INBOX'))
  await appendOne(store, taken, makeMessage('of the other'))
  const before = await everything(store)
  await store.close()
  damagePage(path, pagesOf(path, key, 'mailboxes', 'leaf')[0] ?? 0)
  for (const page of pagesOf(path, key, 'sqlite_autoindex_mailboxes_1', 'leaf'))
    damagePage(path, page)
  const { report } = await repair()
  assert.deepEqual(report.lost, [])
  assert.deepEqual(report.recoveredMailboxes, [`${taken} again`])
  const again = await open()
  const after = await everything(again)
  const bytesOf = (/** @type {string} */ place) => after.get(place)?.bytes
  assert.deepEqual(bytesOf(`${taken} again 1`), before.get('INBOX 1')?.bytes)
  assert.deepEqual(bytesOf(`${taken} 1`), before.get(`${taken} 1`)?.bytes)
  assert.equal((await again.mailboxStatus('INBOX')).messageCount, 0)
  assert.deepEqual((await again.verify()).problems, [])
})

/**
 * Appends to INBOX and moves most of it away, so that free pages have rows of messages: of those that went, and of those that
 * stayed.
 *
 * @param {AccountStore} store - that does not wipe what it deletes
 * @returns {Promise<import('../../../../src/store/mailbox-view.js').MailboxView>} of INBOX
 */
async function leaveFreePages(store) {
  const uids = await appendMany(store, 'INBOX', 4000)
  const { view } = await store.openView('INBOX')
  const move = (/** @type {(uid: number) => boolean} */ isMoved) =>
    store.moveMessages({ from: view, uids: uids.filter(isMoved), toMailbox: 'Archive' })
  // Pages that have fewer and fewer messages become one.
  await move((uid) => uid % 3 > 0)
  await move((uid) => uid % 6 === 0)
  await move((uid) => uid % 6 === 3 && uid < 2000)
  return view
}

test('what has been moved away does not come back, where free pages still have it', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create({ config: { secureDelete: 'FAST' } })
  await leaveFreePages(store)
  const counts = (await store.listMailboxes()).map(({ name, messageCount }) => [name, messageCount])
  await store.close()
  damagePage(path, pagesOf(path, key, 'messages', 'leaf').at(-1) ?? 0)
  await repair()
  const after = await (await open()).listMailboxes()
  assert.deepEqual(
    after.map(({ name, messageCount }) => [name, messageCount]),
    counts
  )
})

test('flags are those of last time, where free pages still have earlier ones', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create({ config: { secureDelete: 'FAST' } })
  const view = await leaveFreePages(store)
  await store.changeFlags({ view, uids: aliveUids(view), action: 'add', flags: ['\\Flagged'] })
  const before = await everything(store)
  await store.close()
  damagePage(path, pagesOf(path, key, 'messages', 'internal')[0] ?? 0)
  await repair()
  const after = await everything(await open())
  assert.equal(after.size, before.size)
  for (const [place, { flags }] of before) assert.equal(after.get(place)?.flags, flags, place)
})

test('a message that came in pieces is saved, where a free page still has it as it was before its end', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create({ config: { secureDelete: 'FAST' } })
  await appendOne(store, 'INBOX', makeMessage('long'))
  const before = await everything(store)
  await store.close()
  const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20' })
  db.pragma('secure_delete = FAST')
  const { id, hash } = /** @type {{ id: number, hash: Buffer }} */ (
    db.prepare('SELECT id, hash FROM contents').get()
  )
  // While it comes, many others do, and go: the tree grows by a page, which has the row, and shrinks again.
  db.prepare('UPDATE contents SET hash = NULL, staged_at = 1').run()
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT ${id + 1} UNION ALL SELECT i + 1 FROM n WHERE i < ${id + 5000})
    INSERT INTO contents (id, hash, size, chunk_size, staged_at) SELECT i, NULL, 1, 1, 1 FROM n;
    DELETE FROM contents WHERE id > ${id}`)
  db.prepare('UPDATE contents SET hash = ?, staged_at = NULL WHERE id = ?').run(hash, id)
  db.close()
  damagePage(path, pagesOf(path, key, 'contents', 'leaf')[0] ?? 0)
  assert.deepEqual((await repair()).report.lost, [])
  assert.deepEqual(await everything(await open()), before)
})
