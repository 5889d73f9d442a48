/**
 * Sessions of one process look at the same moment for what another process has written: each shows its client all that
 * was there when it looked.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  accountFolder,
  aliveUids,
  appendMany,
  appendOne,
  makeMessage
} from '../../helpers/account-folder.js'
import { afterRowPages } from '../../helpers/row-pages.js'
import { turnsDuring } from '../../helpers/turns.js'

/** So many that reading what has changed takes several turns of the event loop. */
const MANY = 6000

/**
 * @param {import('node:test').TestContext} t
 * @param {number} count - messages
 */
async function setup(t, count) {
  const account = await accountFolder(t)
  const here = await account.create()
  const there = await account.open()
  const uids = await appendMany(here, 'INBOX', count)
  const { view } = await there.openView('INBOX')
  await there.pollOtherProcesses()
  return { here, there, uids, view }
}

/** @param {number} count */
async function turns(count) {
  for (let turn = 0; turn < count; turn++) await setImmediate()
}

test('a look beside one that is under way shows what was there before it', async (t) => {
  const { here, there, view } = await setup(t, MANY)
  const uid = await appendOne(here, 'INBOX', makeMessage('first'))
  const first = there.pollOtherProcesses()
  await there.pollOtherProcesses()
  assert.equal(aliveUids(view).at(-1), uid)
  await first
})

test('a look that is young enough is not taken again', async (t) => {
  const { here, there, uids, view } = await setup(t, 2)
  const uid = await appendOne(here, 'INBOX', makeMessage('first'))
  await there.pollOtherProcesses(Infinity)
  assert.deepEqual(aliveUids(view), uids)
  await there.pollOtherProcesses()
  assert.deepEqual(aliveUids(view), [...uids, uid])
})

test('what a read has met of another process is taken in, however young the last look', async (t) => {
  const { here, there, uids, view } = await setup(t, 2)
  const uid = await appendOne(here, 'INBOX', makeMessage('first'))
  await there.mailboxStatus('INBOX')
  await there.pollOtherProcesses(Infinity)
  assert.deepEqual(aliveUids(view), [...uids, uid])
})

for (const [what, chosen] of /** @type {const} */ ([
  ['a run of messages', [0, 1, 2]],
  ['messages here and there', [0, 2]]
])) {
  test(`who changes flags of ${what} is told what another process had changed of them`, async (t) => {
    const { here, there, uids, view } = await setup(t, 3)
    const { view: seenHere } = await here.openView('INBOX')
    await here.changeFlags({
      view: seenHere,
      uids: uids.slice(0, 1),
      action: 'add',
      flags: ['\\Flagged', '$Word']
    })
    const attachment = view.attach(() => {})
    await there.changeFlags({
      view,
      uids: chosen.map((index) => Number(uids[index])),
      action: 'add',
      flags: ['\\Seen'],
      origin: 'me'
    })
    assert.deepEqual(attachment.take(), [
      { kind: 'flags', slots: chosen.slice(1), origin: 'me' },
      { kind: 'flags', slots: [0], origin: null }
    ])
    attachment.detach()
  })
}

test('a look beside one that reads already shows what came after that began', async (t) => {
  const { here, there, view } = await setup(t, MANY)
  await appendOne(here, 'INBOX', makeMessage('first'))
  const first = there.pollOtherProcesses()
  await turns(3)
  const uid = await appendOne(here, 'INBOX', makeMessage('second'))
  await there.pollOtherProcesses()
  assert.equal(aliveUids(view).at(-1), uid)
  await first
})

test('a mailbox that is opened while another session reads has what was there before', async (t) => {
  const { here, there, view } = await setup(t, MANY)
  await appendOne(here, 'INBOX', makeMessage('first'))
  const look = there.pollOtherProcesses()
  await turns(3)
  const uid = await appendOne(here, 'INBOX', makeMessage('second'))
  const opened = await there.openView('INBOX')
  assert.equal(opened.view, view)
  assert.equal(aliveUids(view).at(-1), uid)
  assert.ok(view.highestModSeq >= opened.mailbox.highestModSeq)
  await look
})

for (const isOpen of [true, false]) {
  const doing = isOpen ? 'catches up' : 'loads'
  test(`while a view ${doing}, it tells of no change of others by a MODSEQ beyond one that it has not read`, async (t) => {
    const account = await accountFolder(t)
    const here = await account.create()
    const there = await account.open()
    const uids = await appendMany(here, 'INBOX', 9000)
    const known = isOpen ? (await there.openView('INBOX')).view : null
    if (known) await there.pollOtherProcesses()
    const { view: seen } = await here.openView('INBOX')
    const flag = (/** @type {number[]} */ of) =>
      here.changeFlags({ view: seen, uids: of, action: 'add', flags: ['\\Flagged'] })
    await flag(uids.slice(1, -1))
    // One that the other store has not seen yet, and shows by this reading.
    const fresh = isOpen ? [await appendOne(here, 'INBOX', makeMessage('new'))] : []
    let pages = 0
    afterRowPages(t, there, async (nth) => {
      pages = nth
      if (nth > 1) return
      // That was the first page: of a message there, and then of one on the last.
      await flag(uids.slice(0, 1))
      await flag(uids.slice(-1))
      await flag(fresh)
    })
    if (known) await there.pollOtherProcesses()
    const view = known ?? (await there.openView('INBOX')).view
    assert.ok(pages > 1)
    const [first, last] = [0, uids.length - 1].map((slot) => (view.flags[slot] ?? 0) !== 0)
    assert.ok(first || !last, 'the later change is there without the one before it')
    assert.ok(Math.max(...view.modSeqs.subarray(0, view.length)) <= view.highestModSeq)
    await there.pollOtherProcesses()
    assert.ok(view.flags.subarray(0, view.length).every((word) => word !== 0))
  })
}

test('what another process has changed of very many messages is sorted out in slices', async (t) => {
  const account = await accountFolder(t)
  const here = await account.create()
  // Turns in which nothing but the disk was waited for would count, too.
  const syncCalls = { syncFile: async () => {}, syncFolder: async () => {} }
  const there = await account.open({ syncCalls })
  const uids = await appendMany(here, 'INBOX', 12_000)
  const { view } = await there.openView('INBOX')
  const { view: seen } = await here.openView('INBOX')
  await there.pollOtherProcesses()
  await here.changeFlags({ view: seen, uids, action: 'add', flags: ['\\Seen'] })
  const { turns } = await turnsDuring(t, async () => there.pollOtherProcesses())
  assert.ok(view.flags.subarray(0, view.length).every((word) => word !== 0))
  assert.ok(turns > 10, `${turns} turns`)
})

test('flags of many messages that are changed while the view reads have the MODSEQs of the file', async (t) => {
  const { here, there, uids, view } = await setup(t, 9000)
  await appendOne(here, 'INBOX', makeMessage('foreign'))
  const look = there.pollOtherProcesses()
  await turns(2)
  const run = uids.slice(0, 8000)
  const change = (/** @type {'add' | 'remove'} */ action, /** @type {string} */ flag) =>
    there.changeFlags({ view, uids: run, action, flags: [flag] })
  await Promise.all([
    look,
    change('add', '\\Seen'),
    change('remove', '\\Seen'),
    change('add', '\\Flagged')
  ])
  await there.pollOtherProcesses()
  const rows = /** @type {{ modseq: number, flags: number }[]} */ (
    await there.searchAccess.database.readSettled((db) =>
      db.prepare('SELECT modseq, flags FROM messages ORDER BY id').all()
    )
  )
  assert.equal(rows.length, view.length)
  const wrong = rows.filter(
    ({ modseq, flags }, slot) => view.modSeqs[slot] !== modseq || view.flags[slot] !== flags
  )
  assert.deepEqual(wrong, [])
})

test('a change of a mailbox that another process has deleted before it could be shown is over', async (t) => {
  const account = await accountFolder(t)
  const here = await account.create()
  await here.createMailbox('Work')
  const uids = await appendMany(here, 'INBOX', 1)
  let disk = Promise.resolve()
  const there = await account.open({ syncCalls: { syncFile: () => disk } })
  const { view: inbox } = await there.openView('INBOX')
  const { view } = await there.openView('Work')
  // One that is not known there, so that the view has to be read for what comes behind it.
  await appendMany(here, 'Work', 1)
  /** @type {PromiseWithResolvers<void>} */
  const { promise, resolve } = Promise.withResolvers()
  disk = promise
  const copied = there.copyMessages({ from: inbox, uids, toMailbox: 'Work' })
  while ((await here.mailboxStatus('Work')).messageCount < 2) await setImmediate()
  await here.deleteMailbox('Work')
  resolve()
  await copied
  assert.equal(view.isDeleted, true)
})
