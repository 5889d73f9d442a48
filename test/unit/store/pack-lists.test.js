/**
 * What lists are made of, in rows at first and in blocks later: the same bytes for whoever asks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTransaction } from '../../../src/database/transaction.js'
import { WHOLE_HEADER, chooseFields } from '../../../src/mime/field-choice.js'
import { sweepSlice } from '../../../src/store/garbage.js'
import { BUILDER_VERSION } from '../../../src/mime/message-meta.js'
import { BLOCK_KINDS, readBlock, writeBlock } from '../../../src/store/list-blocks.js'
import { countPackable } from '../../../src/store/pack-lists.js'
import { readListedHeaders } from '../../../src/store/search/listed-header.js'
import { appendOne, makeMessage, rawHandle } from '../../helpers/account-folder.js'
import {
  appendTogether,
  fillAndPack,
  listedMail,
  readList,
  setUpLists,
  slotsOf
} from '../../helpers/packed-lists.js'

const ROW_TABLES = [
  'message_envelopes',
  'message_structures',
  'message_fields',
  'message_received',
  'message_signatures',
  'message_rests'
]

const BLOCK_TABLES = [
  'envelope_blocks',
  'body_structure_blocks',
  'part_tree_blocks',
  'field_blocks',
  'received_blocks',
  'signature_blocks',
  'rest_blocks'
]

const NEEDS = { envelope: true, bodyStructure: true, partTree: true, header: true }

/** @typedef {import('../../../src/store/read-page.js').ColumnKind} ColumnKind */

/** @type {readonly (readonly ColumnKind[])[]} */
const LISTS = [
  [],
  ['envelope'],
  ['bodyStructure'],
  ['fields'],
  ['fields', 'received'],
  ['bodyStructure', 'fields'],
  ['signatures', 'rest', 'received', 'envelope', 'fields', 'bodyStructure']
]

test('a list gives the same bytes before and after it is packed', async (t) => {
  // Nothing is indexed, and packed, before it is asked for.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, view, count } = await setUpLists(t)
  const mails = Array.from({ length: 300 }, (_, number) =>
    listedMail(number, {
      received: number % 4,
      signatures: number % 3,
      extra: number % 7 === 0 ? 'X-Other: 1\r\n' : ''
    })
  )
  await appendTogether(store, 'INBOX', mails)
  const uids = mails.map((_, index) => index + 1)
  const records = await store.readMessages(view.mailboxId, uids, NEEDS)
  const lists = []
  for (const columns of LISTS) lists.push(await readList(store, view, 300, columns))
  const everySeventh = lists.map((list) => list?.filter(({ uid }) => uid % 7 === 1))
  assert.equal(count('envelope_blocks'), 0)

  await store.indexSearch()
  for (const table of BLOCK_TABLES) assert.ok(count(table) >= 4, table)
  for (const table of ROW_TABLES) assert.ok(count(table) < 200, table)
  assert.deepEqual(await store.readMessages(view.mailboxId, uids, NEEDS), records)
  for (const [index, columns] of LISTS.entries()) {
    assert.deepEqual(await readList(store, view, 300, columns), lists[index], `${columns}`)
    assert.deepEqual(
      await readList(store, view, 300, columns, 7),
      everySeventh[index],
      `${columns}`
    )
  }
  assert.deepEqual((await store.verify()).problems, [])
})

test('what is too long for a block stays a row, and the list is whole', async (t) => {
  const { store, view, db } = await setUpLists(t)
  const mails = Array.from({ length: 200 }, (_, number) => {
    if (number === 3) return listedMail(number, { received: 200 })
    if (number === 5)
      return listedMail(number, { extra: `Cc: ${'a@b.example, '.repeat(900)}z@b.example\r\n` })
    return listedMail(number)
  })
  await appendTogether(store, 'INBOX', mails)
  const before = await readList(store, view, 200, ['fields', 'received'])
  const envelopes = await readList(store, view, 200, ['envelope'])
  await store.indexSearch()
  const left = (/** @type {string} */ table) =>
    db.prepare(`SELECT content_id FROM ${table} WHERE content_id < 33`).pluck().all()
  assert.deepEqual(left('message_envelopes'), [6])
  assert.deepEqual(left('message_fields'), [4, 6])
  assert.deepEqual(left('message_received'), [4, 6])
  assert.deepEqual(await readList(store, view, 200, ['fields', 'received']), before)
  assert.deepEqual(await readList(store, view, 200, ['envelope']), envelopes)
})

test('nothing of a deleted message stays in a block, and its neighbours do', async (t) => {
  const { store, view, db } = await setUpLists(t)
  await fillAndPack(store, 200)
  const before = await readList(store, view, 200, ['envelope'])
  const blockTexts = () =>
    BLOCK_KINDS.flatMap((kind) =>
      [0, 1, 2].map((number) => readBlock(db, kind, number)?.bytes.toString('latin1') ?? '')
    ).join()
  const [subject, signature] = ['marker-41\r\n', 'b=41\r\n']
  assert.ok(blockTexts().includes(subject) && blockTexts().includes(signature))
  await store.changeFlags({ view, uids: [42], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  await store.upkeep.sweep()
  assert.ok(!blockTexts().includes('marker-41'))
  assert.ok(!blockTexts().includes(signature))
  assert.ok(!blockTexts().includes('w41@example.org'))
  assert.deepEqual(
    await readList(store, view, 200, ['envelope']),
    before?.filter(({ uid }) => uid !== 42)
  )
  const rest = Array.from({ length: 199 }, (_, index) => (index < 41 ? index + 1 : index + 2))
  await store.changeFlags({ view, uids: rest, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  await store.upkeep.sweep()
  for (const table of BLOCK_TABLES)
    assert.equal(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), 0, table)
})

test('a block that older code made, that is damaged or lost, is made again from the messages', async (t) => {
  const { store, view, db, open } = await setUpLists(t)
  await fillAndPack(store, 300)
  const uids = Array.from({ length: 300 }, (_, index) => index + 1)
  const before = await store.readMessages(view.mailboxId, uids, NEEDS)
  const list = await readList(store, view, 300, ['fields', 'received'])
  await store.close()
  for (const table of BLOCK_TABLES)
    db.exec(`UPDATE ${table} SET builder_version = 0 WHERE id = 0;
      UPDATE ${table} SET data = x'28b52ffd00' WHERE id = 1; DELETE FROM ${table} WHERE id = 2`)
  db.exec('UPDATE list_packing SET builder_version = 0')
  const reader = await open({ isReadOnly: true })
  assert.deepEqual(await reader.readMessages(view.mailboxId, uids, NEEDS), before)
  await reader.close()

  const again = await open()
  await again.indexSearch()
  assert.deepEqual(
    db.prepare('SELECT count(*) FROM message_envelopes WHERE content_id < 128').pluck().get(),
    0
  )
  assert.deepEqual(await readList(again, view, 300, ['fields', 'received']), list)
  assert.deepEqual(await again.readMessages(view.mailboxId, uids, NEEDS), before)
})

/**
 * @param {Buffer} fields
 * @returns {Buffer} as older code made it: of the fields that were listed then, and nothing behind their lines
 */
function asOlder(fields) {
  const entries = Array.from({ length: fields[0] ?? 0 }, (_, nth) =>
    fields.subarray(1 + nth * 3, 4 + nth * 3)
  )
  const isOld = (/** @type {Buffer} */ entry) => (entry[0] ?? 0) < 62
  const old = entries.filter(isOld)
  // Received, which is 0, stands apart.
  const within = old.filter(([number]) => number !== 0)
  const bytes = within.reduce((sum, entry) => sum + entry.readUInt16LE(1), 0)
  const from = 1 + entries.length * 3
  return Buffer.concat([Buffer.of(old.length), ...old, fields.subarray(from, from + bytes)])
}

test('fields that were listed before lists told of others are listed again', async (t) => {
  // Nothing is indexed, and packed, before it is asked for.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, view, db, open } = await setUpLists(t)
  // What was not listed then is too long for a block in one message; another cannot be read any more.
  const mails = Array.from({ length: 300 }, (_, number) =>
    listedMail(number, number === 20 ? { extra: `X-Long: ${'a'.repeat(9000)}\r\n` } : {})
  )
  const [long, damaged] = [21, 40]
  await appendTogether(store, 'INBOX', mails)
  await store.indexSearch()
  const columns = /** @type {const} */ (['fields', 'signatures', 'rest'])
  const list = await readList(store, view, 300, columns)
  await store.close()
  const rows = /** @type {{ id: number, fields: Buffer }[]} */ (
    db.prepare('SELECT content_id AS id, fields FROM message_fields').all()
  )
  for (const { id, fields } of rows)
    db.prepare('UPDATE message_fields SET fields = ? WHERE content_id = ?').run(asOlder(fields), id)
  const numbers = /** @type {number[]} */ (db.prepare('SELECT id FROM field_blocks').pluck().all())
  for (const number of numbers) {
    const block = readBlock(db, 'fields', number)
    const entries = Array.from({ length: 32 }, (_, place) => {
      const id = number * 32 + place
      const fields = block?.entry(place) ?? rows.find((row) => row.id === id)?.fields
      db.prepare('DELETE FROM message_fields WHERE content_id = ?').run(id)
      return fields ? asOlder(fields) : null
    })
    writeBlock(db, 'fields', number, entries)
  }
  db.exec(`DELETE FROM signature_blocks; DELETE FROM message_signatures;
    DELETE FROM rest_blocks; DELETE FROM message_rests;
    UPDATE list_packing SET builder_version = ${BUILDER_VERSION}`)
  db.prepare("UPDATE content_chunks SET data = x'00' WHERE id / 65536 = ?").run(damaged)

  const again = await open()
  const choice = chooseFields(['Subject', 'DKIM-Signature'])
  assert.ok(choice)
  const readChosen = () =>
    again.readPage(view, slotsOf(view, 1, damaged - 1), {
      withDates: false,
      columns,
      choices: [choice, WHOLE_HEADER],
      previews: 'none'
    })
  assert.equal(await readChosen(), null)
  await again.indexSearch()
  assert.equal((await readChosen())?.uids.length, damaged - 1)
  assert.deepEqual(
    db.prepare('SELECT content_id FROM message_fields WHERE content_id < 64').pluck().all(),
    [long]
  )
  const through = Number(db.prepare('SELECT through FROM list_packing').pluck().get())
  assert.ok(through >= 128)
  const sound = (/** @type {typeof list} */ messages) =>
    messages?.filter(({ uid }) => uid < through && uid !== damaged)
  assert.deepEqual(sound(await readList(again, view, through - 1, columns)), sound(list))
  const version = db.pragma('data_version', { simple: true })
  await again.indexSearch()
  assert.equal(db.pragma('data_version', { simple: true }), version)
})

test('rows that come to a block that is packed already are packed into it', async (t) => {
  const { store, view, db } = await setUpLists(t)
  await fillAndPack(store, 200)
  const before = await readList(store, view, 200, ['fields', 'received'])
  db.exec('DELETE FROM field_blocks WHERE id = 1; DELETE FROM envelope_blocks WHERE id = 1')
  const uids = Array.from({ length: 32 }, (_, index) => index + 32)
  await store.readMessages(view.mailboxId, uids, { envelope: true })
  assert.ok(
    /** @type {number} */ (db.prepare('SELECT count(*) FROM message_fields').pluck().get()) > 0
  )
  await appendOne(store, 'INBOX', makeMessage('one more'))
  await store.indexSearch()
  assert.equal(
    db.prepare('SELECT count(*) FROM message_envelopes WHERE content_id < 64').pluck().get(),
    0
  )
  assert.deepEqual(await readList(store, view, 200, ['fields', 'received']), before)
})

test('rows of a damaged message that older code made are not worked at again and again', async (t) => {
  // Nothing is indexed, and packed, before it is asked for.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, db } = await setUpLists(t)
  const mails = Array.from({ length: 300 }, (_, number) => listedMail(number))
  await appendTogether(store, 'INBOX', mails)
  const contentId = db.prepare('SELECT content_id FROM message_envelopes LIMIT 1').pluck().get()
  db.prepare("UPDATE content_chunks SET data = x'00' WHERE id / 65536 = ?").run(contentId)
  db.prepare('UPDATE message_envelopes SET builder_version = 0 WHERE content_id = ?').run(contentId)
  await store.indexSearch()
  const left = db.prepare('SELECT content_id FROM message_envelopes WHERE content_id < 128')
  assert.deepEqual(left.pluck().all(), [contentId])
  const version = db.pragma('data_version', { simple: true })
  await store.indexSearch()
  assert.equal(db.pragma('data_version', { simple: true }), version)
})

test('where all messages have gone there is nothing to pack, and no thread for it', async (t) => {
  const { store, db } = await setUpLists(t)
  const { view } = await store.openView('INBOX')
  const mails = Array.from({ length: 400 }, (_, number) => listedMail(number))
  await appendTogether(store, 'INBOX', mails)
  assert.equal(countPackable(db, 5), 5)
  const uids = mails.map((_, index) => index + 1)
  await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  await store.upkeep.sweep()
  await appendOne(store, 'INBOX', makeMessage('one more'))
  assert.equal(countPackable(db, 5), 0)
})

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {() => void} intrude - called once, before the first read of lines of Received
 * @returns {import('better-sqlite3-multiple-ciphers').Database} the same connection
 */
function intrudedOn(db, intrude) {
  let isDone = false
  const prepare = (/** @type {string} */ sql) => {
    const statement = db.prepare(sql)
    if (!sql.includes('FROM message_received')) return statement
    const get = statement.get.bind(statement)
    statement.get = (...values) => {
      if (!isDone) intrude()
      isDone = true
      return get(...values)
    }
    return statement
  }
  return new Proxy(db, {
    get(target, name) {
      if (name === 'prepare') return prepare
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
}

test('rows that are packed between two reads of one answer are in it all the same', async (t) => {
  const { store, db, folder, key } = await setUpLists(t)
  await appendTogether(store, 'INBOX', [listedMail(1, { received: 2 })])
  await store.indexSearch()
  await store.close()
  const contentId = db.prepare('SELECT content_id FROM message_received').pluck().get()
  const reader = rawHandle({ folder, key })
  t.after(() => reader.close())
  const choice = /** @type {import('../../../src/mime/field-choice.js').FieldChoice} */ (
    chooseFields(['received', 'subject'])
  )
  // As the thread does that packs: what it deletes it has written into a block.
  const source = intrudedOn(reader, () => db.exec('DELETE FROM message_received'))
  const database = {
    isReadOnly: true,
    readSettled: async (/** @type {any} */ work) => work(source)
  }
  const [header] = await readListedHeaders(
    /** @type {any} */ (database),
    [/** @type {number} */ (contentId)],
    choice
  )
  assert.match(String(header), /hop0.*\r\nReceived: from hop1[^]*Subject: marker-1\r\n\r\n$/)
  assert.equal(db.prepare('SELECT count(*) FROM message_received').pluck().get(), 0)
})

test('a sweep opens few blocks at a time, however scattered what goes is', async (t) => {
  const { store, view, db, count, open } = await setUpLists(t)
  await fillAndPack(store, 1500)
  const uids = Array.from({ length: 40 }, (_, nth) => 1 + nth * 32)
  await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  // It would begin to sweep by itself, and may have begun.
  await store.close()
  for (let left = count('garbage_contents'), isMore = true; isMore;) {
    isMore = runTransaction(db, () => sweepSlice(db, Date.now()))
    const now = count('garbage_contents')
    assert.ok(left - now <= 10, `${left - now} blocks at once`)
    assert.equal(isMore, now > 0)
    left = now
  }
  assert.deepEqual((await (await open()).verify()).problems, [])
})
