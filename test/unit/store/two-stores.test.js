/**
 * Two stores on one file, as two processes hold it for a moment: each catches up with what the other writes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import {
  accountFolder,
  aliveUids,
  appendMany,
  appendOne,
  makeMessage
} from '../../helpers/account-folder.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../src/store/mailbox-view.js').MailboxView} MailboxView */

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  const here = await account.create()
  const there = await account.open()
  return { ...account, here, there }
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @returns {string[]} what the view says
 */
function describe(store, view) {
  return [...view.uids.subarray(0, view.length).keys()]
    .filter((slot) => !view.isExpunged(slot))
    .map((slot) => {
      const names = store.keywords.flagNames(view.flags[slot] ?? 0, view.keywords[slot] ?? 0)
      return `${view.uids[slot]} ${view.modSeqs[slot]} ${names.join(' ')}`
    })
}

test('messages, flags with new keywords, and expunges of the other store are told', async (t) => {
  const { here, there } = await setup(t)
  await appendMany(here, 'INBOX', 5)
  const mine = (await here.openView('INBOX')).view
  const theirs = (await there.openView('INBOX')).view
  const attachment = theirs.attach(() => {})
  const seen = theirs.highestModSeq
  await appendMany(here, 'INBOX', 2)
  await here.changeFlags({ view: mine, uids: [1, 7], action: 'add', flags: ['\\Deleted', '$New'] })
  await here.expunge({ view: mine, uids: [1] })
  assert.equal(theirs.aliveCount, 5)
  await there.pollOtherProcesses()
  assert.deepEqual(attachment.take(), [
    { kind: 'append', fromSlot: 5, toSlot: 7 },
    { kind: 'expunge', slots: [0], after: seen, origin: null }
  ])
  assert.deepEqual(describe(there, theirs), describe(here, mine))
  assert.ok(describe(there, theirs).at(-1)?.endsWith('\\Deleted $New'))
  await there.pollOtherProcesses()
  assert.equal(attachment.hasPending, false)
})

test('a keyword of the other store has its name as soon as a message has it, also behind an own change', async (t) => {
  const { here, there } = await setup(t)
  await appendMany(here, 'INBOX', 2)
  const mine = (await here.openView('INBOX')).view
  const theirs = (await there.openView('INBOX')).view
  /** @type {string[][]} */
  const told = []
  theirs.attach(() => told.push(describe(there, theirs)))
  await here.changeFlags({ view: mine, uids: [1], action: 'add', flags: ['$New'] })
  // There is a gap below its MODSEQ, and the view reads what stands in it.
  await there.changeFlags({ view: theirs, uids: [2], action: 'add', flags: ['\\Seen'] })
  assert.match(told.at(-1)?.[0] ?? '', / \$New$/)
})

test('a keyword that the other store has just made is taken away, though nobody here has heard of it', async (t) => {
  const { here, there } = await setup(t)
  await appendMany(here, 'INBOX', 3)
  const mine = (await here.openView('INBOX')).view
  const theirs = (await there.openView('INBOX')).view
  const flags = ['$New']
  await here.changeFlags({ view: mine, uids: [1, 2, 3], action: 'add', flags })
  const { changedCount } = await there.changeFlags({
    view: theirs,
    uids: [1, 3],
    action: 'remove',
    flags
  })
  assert.equal(changedCount, 2)
  await here.pollOtherProcesses()
  for (const [store, view] of /** @type {const} */ ([
    [here, mine],
    [there, theirs]
  ]))
    assert.deepEqual(
      describe(store, view).map((line) => line.replace(/ \d+ /, ' ')),
      ['1 ', '2 $New', '3 ']
    )
})

test('a keyword of the other store has its name in a mailbox that has just been opened', async (t) => {
  const { here, there } = await setup(t)
  await appendMany(here, 'INBOX', 1)
  const mine = (await here.openView('INBOX')).view
  await here.changeFlags({ view: mine, uids: [1], action: 'add', flags: ['$New'] })
  const theirs = (await there.openView('INBOX')).view
  assert.match(describe(there, theirs)[0] ?? '', / \$New$/)
})

test('an own append behind an unseen one of the other store shows both, in the order of UIDs', async (t) => {
  const { here, there } = await setup(t)
  const view = (await there.openView('INBOX')).view
  await appendOne(here, 'INBOX', makeMessage('first'))
  assert.equal(await appendOne(there, 'INBOX', makeMessage('second')), 2)
  assert.deepEqual(aliveUids(view), [1, 2])
})

test('deleting and renaming in the other store reach the view', async (t) => {
  const { here, there } = await setup(t)
  await here.createMailbox('A')
  await here.createMailbox('B')
  const a = (await there.openView('A')).view
  const b = (await there.openView('B')).view
  await here.deleteMailbox('A')
  await here.renameMailbox('B', 'C')
  await there.pollOtherProcesses()
  assert.equal(a.isDeleted, true)
  assert.equal(b.name, 'C')
})

test('UIDs and MODSEQs of two stores that write at once never meet', async (t) => {
  const { here, there } = await setup(t)
  const uids = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      appendOne(index % 2 === 0 ? here : there, 'INBOX', makeMessage(`m${index}`))
    )
  )
  assert.deepEqual(
    uids.sort((a, b) => a - b),
    Array.from({ length: 60 }, (_, i) => i + 1)
  )
  const { view } = await here.openView('INBOX')
  assert.equal(new Set(view.modSeqs.subarray(0, 60)).size, 60)
  assert.deepEqual((await here.verify()).problems, [])
})

test('a view that is behind a pruned log still learns what is gone', async (t) => {
  const { here, there, folder, key } = await setup(t)
  const { openEncryptedDatabase } = await import('../../../src/database/open.js')
  await appendMany(here, 'INBOX', 7)
  const mine = (await here.openView('INBOX')).view
  const theirs = (await there.openView('INBOX')).view
  await here.changeFlags({ view: mine, uids: [2, 5, 7], action: 'add', flags: ['\\Deleted'] })
  await here.expunge({ view: mine, uids: null })
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  db.exec('DELETE FROM expunged; UPDATE mailboxes SET expunged_floor = highest_modseq')
  db.close()
  await there.pollOtherProcesses()
  assert.deepEqual(aliveUids(theirs), [1, 3, 4, 6])
  assert.equal((await there.readExpunged(theirs.mailboxId, 2)).isComplete, false)
})

const step = fc.record({
  store: fc.nat(1),
  kind: fc.constantFrom('append', 'flag', 'expunge', 'move', 'poll', 'pollBoth'),
  n: fc.nat(30)
})

test(
  'after any mixture of writes and polls both stores say the same',
  { timeout: 600_000 },
  async (t) => {
    const { here, there } = await setup(t)
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const name = `M${++round}`
        await here.createMailbox(name)
        const stores = [here, there]
        const views = [(await here.openView(name)).view, (await there.openView(name)).view]
        const told = views.map((view) => {
          const attachment = view.attach(() => {})
          return { attachment, alive: new Set(), view }
        })
        for (const { store: index, kind, n } of steps) {
          const store = /** @type {AccountStore} */ (stores[index])
          const view = /** @type {MailboxView} */ (views[index])
          const uids = aliveUids(view)
          const some = uids.slice(n % Math.max(1, uids.length)).slice(0, 3)
          if (kind === 'append') await appendMany(store, name, 1 + (n % 3))
          else if (kind === 'flag')
            await store.changeFlags({
              view,
              uids: some,
              action: 'add',
              flags: ['\\Deleted', `$k${n}`]
            })
          else if (kind === 'expunge') await store.expunge({ view, uids: null })
          else if (kind === 'move')
            await store.moveMessages({ from: view, uids: some, toMailbox: name })
          else if (kind === 'poll') await store.pollOtherProcesses()
          else await Promise.all(stores.map((each) => each.pollOtherProcesses()))
        }
        for (const each of stores) await each.pollOtherProcesses()
        assert.deepEqual(
          describe(here, /** @type {MailboxView} */ (views[0])),
          describe(there, /** @type {MailboxView} */ (views[1]))
        )
        const status = await here.mailboxStatus(name)
        for (const { view, attachment, alive } of told) {
          for (const record of attachment.take()) {
            if (record.kind === 'append')
              for (let slot = record.fromSlot; slot < record.toSlot; slot++)
                alive.add(view.uids[slot])
            if (record.kind === 'expunge')
              for (const slot of record.slots) alive.delete(view.uids[slot])
          }
          assert.deepEqual([...alive], aliveUids(view))
          assert.equal(view.aliveCount, status.messageCount)
          assert.deepEqual(
            [view.highestModSeq, view.uidNext],
            [status.highestModSeq, status.uidNext]
          )
          attachment.detach()
        }
        here.closeView(/** @type {MailboxView} */ (views[0]))
        there.closeView(/** @type {MailboxView} */ (views[1]))
      }),
      { numRuns: 25 }
    )
    assert.deepEqual((await here.verify()).problems, [])
  }
)

/** Longer than any machine takes to look whether a write waits. */
const PATIENCE_MS = 60_000

test('a write that finds the file locked is seen by the threads until it is through, or has given up', async (t) => {
  const { folder, key, create } = await accountFolder(t)
  const store = await create({ config: { busyTimeoutMs: PATIENCE_MS } })
  const waiting = () =>
    Atomics.load(new Int32Array(store.searchAccess.database.use.writers.shared), 1)
  const { db } = openEncryptedDatabase({
    path: `${folder}/mail.db`,
    key,
    cipher: 'chacha20',
    // A thread of the store's may just write.
    isBlocking: true
  })
  t.after(() => db.close())
  for (const isReleased of [true, false]) {
    db.exec('BEGIN IMMEDIATE')
    const made = store.createMailbox(`Folder ${isReleased}`)
    while (waiting() === 0) await setTimeout(1)
    if (isReleased) {
      db.exec('COMMIT')
      await made
    } else {
      const { now } = performance
      const { mock } = t.mock.method(performance, 'now', () => now.call(performance) + PATIENCE_MS)
      await assert.rejects(made, { code: 'BUSY' })
      mock.restore()
      db.exec('COMMIT')
    }
    // The index may be waiting, too.
    while (waiting() !== 0) await setTimeout(1)
  }
})

for (const how of ['a moment later', 'at its close']) {
  test(`usage that is again what a store told is told again ${how} where another has told another since`, async (t) => {
    const account = await accountFolder(t)
    /** @type {number[]} */
    const told = []
    const onUsage = (/** @type {{ messages: number }} */ { messages }) => told.push(messages)
    const untilTold = async (/** @type {number} */ messages) => {
      while (told.at(-1) !== messages) await setTimeout(20)
    }
    const here = await account.create({ onUsage })
    const there = await account.open({ onUsage })
    await appendMany(here, 'INBOX', 2)
    await untilTold(2)
    await appendMany(there, 'INBOX', 1)
    await there.close()
    assert.equal(told.at(-1), 3)
    const { view } = await here.openView('INBOX')
    await here.changeFlags({ view, uids: [3], action: 'add', flags: ['\\Deleted'] })
    await here.expunge({ view, uids: [3] })
    if (how === 'at its close') await here.close()
    else await untilTold(2)
    assert.equal(told.at(-1), 2)
  })
}
