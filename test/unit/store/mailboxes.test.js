import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import {
  accountFolder,
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  rawHandle,
  readBytes,
  sweepAll
} from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { countTurns } from '../../helpers/turns.js'

/** Mailboxes of a new account. */
const USUAL = ['Archive', 'Drafts', 'INBOX', 'Junk', 'Sent', 'Trash']

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../../src/store/account-store.js').StoreOptions>} [options]
 */
async function setup(t, options) {
  const account = await accountFolder(t)
  const store = await account.create(options)
  const names = async () => (await store.listMailboxes()).map(({ name }) => name)
  return { ...account, store, names }
}

test('thousands of mailboxes and subscriptions are read in pages, between which others have their turn', async (t) => {
  const { store, names } = await setup(t, { syncCalls: { syncFile: async () => {} } })
  const made = Array.from({ length: 2100 }, (_, index) => `box ${String(index).padStart(4, '0')}`)
  await Promise.all(made.toReversed().map((name) => store.createMailbox(name)))
  await Promise.all(made.map((name) => store.setSubscribed(name, true)))
  const { answer: all, turns } = await countTurns(async () => [
    ...(await names()),
    ...(await store.listSubscriptions())
  ])
  assert.ok(turns >= 4, `${turns} turns`)
  const there = [...USUAL, ...made].sort()
  assert.deepEqual(all, [...there, ...there])
})

test('a new account has the usual folders, subscribed, with their uses', async (t) => {
  const { store, create } = await setup(t)
  const rows = await store.listMailboxes()
  assert.deepEqual(
    rows.map(({ name, specialUse }) => [name, specialUse]),
    [
      ['Archive', '\\Archive'],
      ['Drafts', '\\Drafts'],
      ['INBOX', null],
      ['Junk', '\\Junk'],
      ['Sent', '\\Sent'],
      ['Trash', '\\Trash']
    ]
  )
  assert.ok(rows.every(({ isSubscribed }) => isSubscribed))
  await assert.rejects(create(), { code: 'ACCOUNT_EXISTS' })
})

test('opening an account whose file or folder is gone calls it damaged, and makes no file', async (t) => {
  const { folder, open } = await accountFolder(t)
  await assert.rejects(open(), { code: 'ACCOUNT_DAMAGED' })
  mkdirSync(folder)
  await assert.rejects(open(), { code: 'ACCOUNT_DAMAGED' })
  assert.deepEqual(readdirSync(folder), [])
})

test('a mailbox can be made once, in one spelling of INBOX', async (t) => {
  const { store } = await setup(t)
  const made = await store.createMailbox('Work/2026/', { specialUse: '\\Important' })
  assert.equal(made.name, 'Work/2026')
  assert.equal(made.specialUse, '\\Important')
  assert.deepEqual([made.uidNext, made.highestModSeq, made.messageCount], [1, 1, 0])
  await assert.rejects(store.createMailbox('Work/2026'), { code: 'MAILBOX_EXISTS' })
  await assert.rejects(store.createMailbox('inbox'), { code: 'MAILBOX_EXISTS' })
  await assert.rejects(store.createMailbox('a//b'), { code: 'CANNOT' })
  assert.equal((await store.mailboxStatus('iNbOx')).name, 'INBOX')
  assert.equal((await store.createMailbox('Entwu\u0308rfe')).name, 'Entw\u00fcrfe')
  await assert.rejects(store.createMailbox('Entw\u00fcrfe'), { code: 'MAILBOX_EXISTS' })
  assert.equal((await store.mailboxStatus('Entwu\u0308rfe')).name, 'Entw\u00fcrfe')
})

test('UIDVALIDITY and ids never repeat, though a mailbox is deleted and made within a second', async (t) => {
  const clock = new ManualClock()
  const { store } = await setup(t, { clock })
  const seen = new Set((await store.listMailboxes()).map(({ uidValidity }) => uidValidity))
  const ids = new Set((await store.listMailboxes()).map(({ id }) => id))
  for (let round = 0; round < 20; round++) {
    if (round === 10) clock.advance(-86_400_000)
    const { uidValidity, id } = await store.createMailbox('Again')
    assert.equal(seen.has(uidValidity) || ids.has(id), false)
    seen.add(uidValidity)
    ids.add(id)
    await store.deleteMailbox('Again')
  }
  clock.advance(10 * 86_400_000)
  const later = await store.createMailbox('Again')
  assert.equal(later.uidValidity, Math.floor(clock.ms / 1000))
})

test('a usual mailbox that is made again has its use again, unless another has it; no other way of making it does', async (t) => {
  const { store } = await setup(t)
  for (const name of ['Trash', 'Sent', 'Junk', 'Archive']) await store.deleteMailbox(name)
  await store.createMailbox('Sent Items', { specialUse: '\\Sent' })
  const made = [
    await store.createMailbox('Trash/'),
    await store.createMailbox('Sent'),
    await store.createMailbox('trash'),
    await store.createMailbox('Archive/2026')
  ]
  assert.deepEqual(
    made.map(({ name, specialUse }) => [name, specialUse]),
    [
      ['Trash', '\\Trash'],
      ['Sent', null],
      ['trash', null],
      ['Archive/2026', null]
    ]
  )
  // Its mail is not to go by itself after some days.
  await store.renameMailbox('INBOX', 'Junk')
  assert.equal((await store.mailboxStatus('Junk')).specialUse, null)
})

test('deleting a mailbox keeps those below it, its subscription, and tells who has it open', async (t) => {
  const { store, names } = await setup(t)
  await store.createMailbox('A')
  await store.createMailbox('A/B')
  await store.setSubscribed('A', true)
  await appendMany(store, 'A', 5)
  const { view } = await store.openView('A')
  let told = 0
  view.attach(() => told++)
  await store.deleteMailbox('A')
  assert.deepEqual(
    (await names()).filter((name) => name.startsWith('A')),
    ['A/B', 'Archive']
  )
  assert.ok((await store.listSubscriptions()).includes('A'))
  assert.deepEqual([view.isDeleted, told], [true, 1])
  await assert.rejects(store.openView('A'), { code: 'MAILBOX_NOT_FOUND' })
  await assert.rejects(store.deleteMailbox('A'), { code: 'MAILBOX_HAS_CHILDREN' })
  await assert.rejects(store.deleteMailbox('Nowhere'), { code: 'MAILBOX_NOT_FOUND' })
  await assert.rejects(store.deleteMailbox('inbox'), { code: 'CANNOT' })
  await assert.rejects(store.changeFlags({ view, uids: [1], action: 'add', flags: ['\\Seen'] }), {
    code: 'MAILBOX_NOT_FOUND'
  })
  await sweepAll(store)
  const report = await store.verify()
  assert.deepEqual([report.problems, report.messages, report.contents], [[], 0, 0])
})

test('a mailbox from which thousands were expunged one by one is deleted in pieces, between which others have their turn', async (t) => {
  let syncs = 0
  const syncFile = async () => {
    syncs++
  }
  const { store, names } = await setup(t, { syncCalls: { syncFile } })
  await store.createMailbox('Full')
  const uids = (await appendMany(store, 'Full', 12_000)).filter((uid) => uid % 2 === 0)
  const { view } = await store.openView('Full')
  await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  // It would be swept amid what follows, and that is synced as well.
  await sweepAll(store)
  await store.sync()
  const before = syncs
  let turns = 0
  const countTurn = () => {
    if (syncs > before) return
    turns++
    setImmediate(countTurn)
  }
  setImmediate(countTurn)
  await store.deleteMailbox('Full')
  assert.ok(turns >= 5, `${turns} turns before it was gone`)
  assert.ok(view.isDeleted)
  assert.deepEqual(await names(), USUAL)
})

for (const count of [499, 500, 501, 1000])
  test(`of a deleted mailbox with ${count} messages the sweep leaves none`, async (t) => {
    const { store } = await setup(t)
    await store.createMailbox('A')
    await appendMany(store, 'A', count)
    await store.deleteMailbox('A')
    await sweepAll(store)
    const left = await store.searchAccess.database.read((db) =>
      ['messages', 'contents', 'garbage_mailboxes', 'garbage_contents'].map((table) =>
        db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
      )
    )
    assert.deepEqual(left, [0, 0, 0, 0])
  })

test('a mailbox that is made again under its name is another one', async (t) => {
  const { store } = await setup(t)
  await store.createMailbox('A')
  await appendMany(store, 'A', 3)
  const old = (await store.openView('A')).view
  await store.deleteMailbox('A')
  await store.createMailbox('A')
  const { view, mailbox } = await store.openView('A')
  assert.equal(view.length, 0)
  assert.equal(mailbox.messageCount, 0)
  assert.notEqual(view.mailboxId, old.mailboxId)
})

test('renaming takes those below along, keeps UIDs and UIDVALIDITY, and renames open views', async (t) => {
  const { store, names } = await setup(t)
  for (const name of ['A', 'A/B', 'A/B/C', 'A0', 'AB']) await store.createMailbox(name)
  const uid = await appendOne(store, 'A/B', makeMessage('kept'))
  const { view, mailbox } = await store.openView('A/B')
  await store.renameMailbox('A', 'X/Y')
  assert.deepEqual(
    (await names()).filter((name) => /^[AX]/.test(name)),
    ['A0', 'AB', 'Archive', 'X/Y', 'X/Y/B', 'X/Y/B/C']
  )
  assert.equal(view.name, 'X/Y/B')
  const status = await store.mailboxStatus('X/Y/B')
  assert.deepEqual([status.uidValidity, status.id], [mailbox.uidValidity, mailbox.id])
  assert.deepEqual(await readBytes(store, view, uid), makeMessage('kept'))
})

test('renaming takes those below along, whatever way the name is written', async (t) => {
  const { store, names } = await setup(t)
  for (const name of ['Bücher', 'Bücher/alt']) await store.createMailbox(name.normalize('NFC'))
  await store.renameMailbox('Bücher'.normalize('NFD'), 'Books')
  assert.deepEqual(
    (await names()).filter((name) => /^B/.test(name)),
    ['Books', 'Books/alt']
  )
})

test('renaming takes very many along, all of them or none', async (t) => {
  const { store, names } = await setup(t)
  const below = Array.from({ length: 600 }, (_, index) => String(1000 + index))
  for (const name of ['A', ...below.map((name) => `A/${name}`)]) await store.createMailbox(name)
  await store.createMailbox('B/1599')
  const { view } = await store.openView('A/1000')
  const before = await names()
  await assert.rejects(store.renameMailbox('A', 'B'), { code: 'MAILBOX_EXISTS' })
  assert.deepEqual(await names(), before)
  await store.renameMailbox('A', 'C')
  assert.deepEqual(
    (await names()).filter((name) => /^[ABC](\/|$)/.test(name)),
    ['B/1599', 'C', ...below.map((name) => `C/${name}`)]
  )
  assert.equal(view.name, 'C/1000')
})

const refusals = /** @type {[string, string, string][]} */ ([
  ['Nowhere', 'B', 'MAILBOX_NOT_FOUND'],
  ['A', 'Sent', 'MAILBOX_EXISTS'],
  ['A', 'inbox', 'MAILBOX_EXISTS'],
  ['A', 'A/B', 'CANNOT'],
  ['A', 'D', 'MAILBOX_EXISTS'],
  ['A', 'x//y', 'CANNOT']
])
for (const [from, to, code] of refusals) {
  test(`renaming ${from} to ${to} answers ${code} and changes nothing`, async (t) => {
    const { store, names } = await setup(t)
    for (const name of ['A', 'A/E', 'D/E']) await store.createMailbox(name)
    const before = await names()
    await assert.rejects(store.renameMailbox(from, to), { code })
    assert.deepEqual(await names(), before)
  })
}

for (const count of [3, 2300]) {
  test(`renaming INBOX moves its ${count} messages into a new mailbox`, async (t) => {
    const { store } = await setup(t)
    await store.createMailbox('INBOX/Sub')
    await appendMany(store, 'INBOX', count, ['\\Seen'])
    const inbox = (await store.openView('INBOX')).view
    await store.renameMailbox('INBOX', 'Old')
    assert.equal(inbox.aliveCount, 0)
    const { view } = await store.openView('Old')
    assert.equal(view.aliveCount, count)
    assert.equal((await store.mailboxStatus('INBOX')).messageCount, 0)
    assert.equal((await store.mailboxStatus('INBOX/Sub')).messageCount, 0)
    assert.ok((await appendOne(store, 'INBOX', makeMessage('after'))) > count)
    assert.equal(aliveUids(inbox).length, 1)
    assert.deepEqual((await store.verify()).problems, [])
    await assert.rejects(store.renameMailbox('inbox', 'Old'), { code: 'MAILBOX_EXISTS' })
  })
}

test('an account has 40,000 subscriptions; one more answers LIMIT, one of them does not', async (t) => {
  const { store, ...account } = await setup(t)
  const db = rawHandle(account)
  t.after(() => db.close())
  const there = (await store.listSubscriptions()).length
  db.prepare(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
     INSERT INTO subscriptions (name) SELECT 'list/' || n FROM numbers`
  ).run(40_000 - there)
  await assert.rejects(() => store.setSubscribed('list/0', true), { code: 'LIMIT' })
  await store.setSubscribed('list/1', true)
  await store.setSubscribed('list/1', false)
  await store.setSubscribed('list/0', true)
})

test('a subscription needs no mailbox, and goes only when it is told to', async (t) => {
  const { store } = await setup(t)
  await store.setSubscribed('No/Such', true)
  await store.setSubscribed('No/Such', true)
  assert.ok((await store.listSubscriptions()).includes('No/Such'))
  await store.setSubscribed('No/Such', false)
  await store.setSubscribed('No/Such', false)
  assert.equal((await store.listSubscriptions()).includes('No/Such'), false)
})

test('\\Recent goes to the first session that selects', async (t) => {
  const { store } = await setup(t)
  await appendMany(store, 'INBOX', 3)
  const { view } = await store.openView('INBOX')
  assert.equal((await store.mailboxStatus('INBOX')).recentCount, 3)
  assert.deepEqual(await store.claimRecent(view), { fromUid: 1 })
  assert.equal((await store.mailboxStatus('INBOX')).recentCount, 0)
  assert.deepEqual(await store.claimRecent(view), { fromUid: 4 })
  await appendMany(store, 'INBOX', 2)
  assert.equal((await store.mailboxStatus('INBOX')).recentCount, 2)
  assert.deepEqual(await store.claimRecent(view), { fromUid: 4 })
})

test('a read-only store reads everything and changes nothing', async (t) => {
  const { store, open } = await setup(t)
  await appendMany(store, 'INBOX', 2)
  await store.close()
  const reader = await open({ isReadOnly: true })
  const { view } = await reader.openView('INBOX')
  assert.equal(view.aliveCount, 2)
  assert.deepEqual(await reader.claimRecent(view), { fromUid: 1 })
  const uids = [1]
  /** @type {(() => Promise<unknown>)[]} */
  const changes = [
    () => reader.createMailbox('x'),
    () => reader.deleteMailbox('Sent'),
    () => reader.renameMailbox('Sent', 'x'),
    () => reader.renameMailbox('INBOX', 'x'),
    () => reader.setSubscribed('x', true),
    () => reader.stageContent(),
    () => reader.checkAppend({ mailboxName: 'INBOX', sizeBytes: 1 }),
    () => reader.changeFlags({ view, uids, action: 'add', flags: ['\\Seen'] }),
    () => reader.changeFlags({ view, uids: [], action: 'add', flags: ['\\Seen'] }),
    () => reader.copyMessages({ from: view, uids, toMailbox: 'Sent' }),
    () => reader.moveMessages({ from: view, uids, toMailbox: 'Sent' }),
    () => reader.expunge({ view, uids: null })
  ]
  for (const change of changes) await assert.rejects(change(), { code: 'READ_ONLY' })
  assert.equal((await reader.mailboxStatus('INBOX')).recentCount, 2)
})
