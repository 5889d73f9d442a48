/**
 * Attachments that several messages have are stored once, and every message is as it was.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { runTransaction } from '../../../../src/database/transaction.js'
import { CHUNK_BYTES } from '../../../../src/store/chunk-codec.js'
import { sweepSlice } from '../../../../src/store/garbage.js'
import { StoredBody } from '../../../../src/store/read-bodies.js'
import {
  accountFolder,
  appendOne,
  rawHandle,
  readBytes,
  sweepAll
} from '../../../helpers/account-folder.js'
import { base64Text, mailWith, noise } from '../../../helpers/attachments.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

const WHOLE = { withTrees: false, withDates: false, wholeBytes: Infinity }

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  const value = (/** @type {string} */ sql) => db.prepare(sql).pluck().get()
  return { ...account, store, view, db, value }
}

/**
 * So much mail that a thread indexes it.
 *
 * @param {AccountStore} store
 * @param {readonly Buffer[]} mails
 */
async function addAndIndex(store, mails) {
  for (const bytes of mails) await appendOne(store, 'INBOX', bytes)
  const long = `Subject: ${randomUUID()}\r\n\r\n${'word '.repeat(20_000)}`
  await appendOne(store, 'INBOX', Buffer.from(long))
  await store.indexSearch()
}

const STORED = 'SELECT sum(length(data)) FROM content_chunks'
const PARTS = 'SELECT count(*) FROM shared_parts'

/** Sizes of attachments, bytes: a picture of a signature, one in a chunk, some chunks, many. */
for (const size of [5000, 60_000, 300_000, 3_000_000]) {
  test(`an attachment of ${size} bytes, in lines of any length, is stored once`, async (t) => {
    const { store, view, value } = await setUp(t)
    const bytes = noise('attachment', size)
    const mails = [
      mailWith('first', [bytes]),
      mailWith('of another program', [noise('other', 3000), { bytes, line: 72 }]),
      mailWith('once more, and twice', [bytes, { bytes, line: 64 }])
    ]
    await addAndIndex(store, mails)
    assert.equal(value(PARTS), 1)
    assert.equal(value('SELECT size FROM shared_parts'), size)
    assert.ok(Number(value(STORED)) < size * 1.05 + 25_000)
    for (const [index, mail] of mails.entries())
      assert.ok((await readBytes(store, view, index + 1)).equals(mail), `message ${index + 1}`)
    assert.deepEqual((await store.verify()).problems, [])

    // What comes later finds it.
    const later = mailWith('later', [{ bytes, line: 76 }])
    await addAndIndex(store, [later])
    assert.equal(value(PARTS), 1)
    assert.ok(Number(value(STORED)) < size * 1.05 + 30_000)
    assert.ok((await readBytes(store, view, 5)).equals(later))
    assert.deepEqual((await store.verify()).problems, [])
  })
}

test('all ways to read a message give its bytes', async (t) => {
  const { store, view } = await setUp(t)
  const [small, large] = [noise('small', 20_000), noise('large', 250_000)]
  const mails = [
    mailWith('one', [small]),
    mailWith('two', [small]),
    mailWith('long one', [large, small]),
    mailWith('long two', [small, large])
  ]
  await addAndIndex(store, mails)
  const uids = [1, 2, 3, 4]
  const slots = uids.map((uid) => view.slotOf(uid))
  for (const slot of slots) {
    const [body] = await store.readBodies(view, [slot], WHOLE)
    const mail = /** @type {Buffer} */ (mails[slot])
    assert.ok(body)
    if (!(body instanceof StoredBody)) assert.ok(Buffer.concat(body.pieces).equals(mail))
    else assert.ok(body.unpack(body.size)?.equals(mail))
  }
  const records = await store.readMessages(view.mailboxId, uids, { content: true, header: true })
  for (const [index, { content, header }] of records.entries()) {
    const mail = /** @type {Buffer} */ (mails[index])
    const isShort = mail.length <= CHUNK_BYTES
    assert.deepEqual(content ?? null, isShort ? mail : null)
    if (isShort) assert.deepEqual(header, mail.subarray(0, mail.indexOf('\r\n\r\n') + 4))
    for (let start = 0; start < mail.length; start += 9973) {
      const range = mail.subarray(start, start + 15_000)
      assert.ok((await readBytes(store, view, index + 1, start, start + 15_000)).equals(range))
    }
  }
})

test('an attachment is shared wherever the chunks of its message end', async (t) => {
  const { store, view, value } = await setUp(t)
  const mails = []
  // Of noise each chunk has 32 KiB; the first one ends so many bytes behind the beginning of the text.
  for (const bytes of [1, 75, 76, 77, 78, 79]) {
    const attachment = noise(`${bytes}`, 100_000)
    const mail = (/** @type {string} */ name, /** @type {string} */ text) =>
      mailWith(name, [{ bytes: attachment, text }, attachment])
    const filler = 32_768 - mail('a', '').indexOf(base64Text(attachment)) - bytes
    mails.push(...['a', 'b'].map((name) => mail(name, 'x'.repeat(filler))))
  }
  await addAndIndex(store, mails)
  assert.equal(value(PARTS), mails.length / 2)
  for (const [index, mail] of mails.entries())
    assert.ok((await readBytes(store, view, index + 1)).equals(mail))
})

test('what would not come back to the byte stays as it is', async (t) => {
  const { store, view, value } = await setUp(t)
  const bytes = noise('attachment', 30_000)
  const text = base64Text(bytes)
  const strange = [
    ['characters of URLs', text.replaceAll('+', '-').replaceAll('/', '_')],
    ['a space behind each line', text.replaceAll('\r\n', ' \r\n')],
    ['bare line feeds', text.replaceAll('\r\n', '\n')],
    ['a line of another length', text.replace(/^(.{76})\r\n(.{76})\r\n/, '$1$2\r\n')],
    ['one line', text.replaceAll('\r\n', '')],
    ['a blank line in the middle', `${text.slice(0, 7800)}\r\n${text.slice(7800)}`],
    ['a footer behind it', `${text}\r\n_____\r\nTo leave this list, write to it.`],
    ['no base64 at all', 'This is no base64, whatever the header says.\r\n'.repeat(200)],
    ['lines of dots', `${'.'.repeat(76)}\r\n`.repeat(200)]
  ]
  const mails = strange.flatMap(([what = '', changed = '']) =>
    ['a', 'b'].map((copy) => mailWith(`${what} ${copy}`, [{ bytes, text: changed }]))
  )
  await addAndIndex(store, mails)
  for (const [index, mail] of mails.entries())
    assert.ok((await readBytes(store, view, index + 1)).equals(mail), strange[index >> 1]?.[0])
  assert.equal(value('SELECT count(*) FROM part_queue'), 0)
  // What was made in vain goes with the next sweep.
  await store.upkeep.sweep()
  assert.equal(value(PARTS), 0)
  // Line ends behind the text do not matter.
  const ends = ['', '\r\n', '\r\n\r\n', '\r\n \t\r\n'].flatMap((end, number) =>
    ['a', 'b'].map((copy) => mailWith(`end ${number} ${copy}`, [{ bytes, text: text + end }]))
  )
  await addAndIndex(store, ends)
  for (const [index, mail] of ends.entries())
    assert.ok((await readBytes(store, view, mails.length + 2 + index)).equals(mail))
  assert.equal(value(PARTS), 1)
  assert.equal(value('SELECT count(*) FROM shared_part_uses'), ends.length)
  assert.deepEqual((await store.verify()).problems, [])
})

test('attachments that are as long, begin and end alike, and differ in between are told apart', async (t) => {
  const { store, view, value } = await setUp(t)
  for (const size of [20_000, 400_000]) {
    const bytes = noise('attachment', size)
    const other = Buffer.from(bytes)
    other.writeUInt8(1 + (other.readUInt8(size / 2) % 255), size / 2)
    const mails = [other, bytes, other, bytes].map((part, n) => mailWith(`${size} ${n}`, [part]))
    const first = view.length + 1
    await addAndIndex(store, mails)
    for (const [index, mail] of mails.entries())
      assert.ok((await readBytes(store, view, first + index)).equals(mail), `${size}, ${index}`)
  }
  assert.ok(Number(value(PARTS)) >= 2)
  assert.deepEqual((await store.verify()).problems, [])
})

test('an attachment goes with the last message that has it', async (t) => {
  const { store, view, value } = await setUp(t)
  const bytes = noise('attachment', 1_500_000)
  const mails = ['a', 'b', 'c'].map((name) => mailWith(name, [bytes]))
  await addAndIndex(store, mails)
  const expunge = async (/** @type {number} */ uid) => {
    await store.changeFlags({ view, uids: [uid], action: 'add', flags: ['\\Deleted'] })
    await store.expunge({ view, uids: [uid] })
    await sweepAll(store)
    assert.deepEqual((await store.verify()).problems, [])
  }
  // The first is the one that it was taken from.
  for (const uid of [1, 3]) await expunge(uid)
  assert.equal(value(PARTS), 1)
  assert.ok((await readBytes(store, view, 2)).equals(/** @type {Buffer} */ (mails[1])))
  await expunge(2)
  for (const table of ['shared_parts', 'shared_part_uses', 'part_places', 'part_queue'])
    assert.equal(value(`SELECT count(*) FROM ${table}`), 0, table)
  assert.ok(Number(value(STORED)) < 10_000)
  // The next ones begin anew.
  await addAndIndex(store, mails)
  assert.equal(value(PARTS), 1)
  assert.ok((await readBytes(store, view, 7)).equals(/** @type {Buffer} */ (mails[2])))
})

test('a message that is read while its attachments become shared is read to its end', async (t) => {
  const { store, view, value } = await setUp(t)
  const bytes = noise('attachment', 1_000_000)
  const mails = ['a', 'b'].map((name) => mailWith(name, [bytes]))
  for (const mail of mails) await appendOne(store, 'INBOX', mail)
  const [record] = await store.readMessages(view.mailboxId, [1], { row: true })
  const pieces = []
  for await (const piece of store.readContent(record?.contentId ?? 0)) {
    pieces.push(Buffer.from(piece))
    if (pieces.length === 2) await store.indexSearch()
  }
  assert.equal(value(PARTS), 1)
  assert.ok(Buffer.concat(pieces).equals(/** @type {Buffer} */ (mails[0])))
})

test('a slice of the sweep deletes a piece of a long attachment, or some short ones', async (t) => {
  const { store, view, db, value } = await setUp(t)
  const parts = [noise('long', 1_000_000)]
  for (let number = 0; number < 20; number++) parts.push(noise(`${number}`, 4000))
  await addAndIndex(store, [mailWith('one', parts), mailWith('two', parts)])
  assert.equal(value(PARTS), parts.length)
  await store.changeFlags({ view, uids: [1, 2], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: [1, 2] })
  await store.close()
  const chunks = () =>
    Number(
      value('SELECT count(*) FROM content_chunks WHERE id >> 16 IN (SELECT id FROM shared_parts)')
    )
  const all = chunks()
  let slices = 0
  for (let left = all, isMore = true; isMore; left = chunks()) {
    isMore = runTransaction(db, () => sweepSlice(db, Infinity))
    if (chunks() < left) slices++
    assert.ok(left - chunks() <= 8)
  }
  assert.equal(value(PARTS), 0)
  assert.ok(all > 50 && slices < all / 5)
})
