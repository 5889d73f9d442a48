import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, makeMessage, rawHandle, stage } from '../../helpers/account-folder.js'

/** @typedef {import('../../../src/store/flag-masks.js').FlagAction} FlagAction */

/**
 * @param {import('node:test').TestContext} t
 * @param {number} messages
 */
async function setup(t, messages) {
  const account = await accountFolder(t)
  let [syncs, ended] = [0, 0]
  const store = await account.create({
    syncCalls: {
      syncFile: async () => {
        syncs++
        await new Promise((resolve) => setTimeout(resolve, 5))
        ended++
      }
    }
  })
  const appended = []
  for (let nth = 1; nth <= messages; nth++)
    appended.push({
      content: await stage(store, makeMessage(`${nth}`)),
      flags: [],
      internalDate: null
    })
  await store.appendMessages('INBOX', appended)
  const { view } = await store.openView('INBOX')
  /**
   * @param {number | readonly number[]} uids
   * @param {FlagAction} action
   * @param {...string} flags
   */
  const change = (uids, action, ...flags) =>
    store.changeFlags({ view, uids: typeof uids === 'number' ? [uids] : uids, action, flags })
  const flagsOf = (/** @type {number} */ uid) => {
    const slot = view.slotOf(uid)
    return store.keywords.flagNames(Number(view.flags[slot]), Number(view.keywords[slot]))
  }
  return {
    ...account,
    store,
    view,
    change,
    flagsOf,
    syncCount: () => syncs,
    endedSyncs: () => ended
  }
}

test('changes that are asked for at once, or while others are synced, share a sync and keep their order', async (t) => {
  const { store, change, flagsOf, syncCount } = await setup(t, 3)
  const before = syncCount()
  const begun = async () => {
    while (syncCount() === before) await new Promise(setImmediate)
  }
  /** @type {number[]} */
  const told = []
  /** @type {FlagAction[]} */
  const actions = ['add', 'remove']
  await Promise.all(
    Array.from({ length: 41 }, async (_, nth) => {
      // The last ones come while the first are on their way.
      if (nth > 30) await begun()
      await change(1 + (nth % 2), actions[(nth >> 1) % 2] ?? 'set', '\\Seen', `$k${nth % 4}`)
      told.push(nth)
    })
  )
  assert.deepEqual(
    told,
    told.map((_, index) => index)
  )
  // Of the first and of the last.
  assert.equal(syncCount() - before, 2)
  assert.deepEqual([flagsOf(1), flagsOf(2), flagsOf(3)], [['\\Seen', '$k0'], ['$k1'], []])
  assert.deepEqual((await store.verify()).problems, [])
})

test('one that is refused leaves nothing, and takes none of the others with it', async (t) => {
  const { store, view, change, flagsOf } = await setup(t, 2)
  const many = Array.from({ length: 60 }, (_, nth) => `$many${nth}`)
  await store.createMailbox('Gone')
  const gone = await store.openView('Gone')
  const { highestModSeq } = view
  const changes = [
    change(1, 'add', '$first'),
    change(1, 'add', '$second'),
    change(2, 'add', '$third', ...many),
    store.changeFlags({ view: gone.view, uids: [1], action: 'add', flags: ['$fourth'] }),
    change(2, 'add', '\\Nonsense'),
    change(2, 'set', '$fifth')
  ]
  const deleted = store.deleteMailbox('Gone')
  const outcomes = await Promise.allSettled(changes)
  await deleted
  assert.deepEqual(
    outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value.changedCount : outcome.reason.code
    ),
    [1, 1, 'LIMIT', 'MAILBOX_NOT_FOUND', 'CANNOT', 1]
  )
  assert.deepEqual(
    [flagsOf(1).sort(), flagsOf(2), store.keywords.names.filter((name) => name.startsWith('$'))],
    [['$first', '$second'], ['$fifth'], ['$first', '$second', '$fifth']]
  )
  assert.equal(view.highestModSeq, highestModSeq + 3)
  assert.deepEqual((await store.verify()).problems, [])
})

test('what changes nothing waits for no disk, but for what it has seen', async (t) => {
  const { store, view, change, syncCount, endedSyncs } = await setup(t, 60)
  const all = Array.from({ length: 60 }, (_, index) => index + 1)
  const changes = /** @type {const} */ ([
    ['add', '\\Seen', '$work'],
    ['remove', '\\Flagged', '$unheard'],
    ['set', '\\Seen', '$work']
  ])
  await change(all, 'add', '\\Seen', '$work')
  const before = syncCount()
  for (const [action, ...flags] of changes) {
    for (const uids of [1, all]) {
      const { changedCount } = await change(uids, action, ...flags)
      assert.equal(changedCount, 0, `${action} ${flags}`)
    }
  }
  assert.equal(syncCount(), before)
  // A keyword is there from now on, whatever message has it.
  await change(99, 'add', '$new')
  assert.equal(syncCount(), before + 1)

  const lazily = { view, uids: [1], flags: ['\\Flagged'], isLazy: true }
  assert.equal((await store.changeFlags({ ...lazily, action: 'add' })).changedCount, 1)
  assert.equal(endedSyncs(), before + 1, 'it is not on the disk yet')
  assert.equal((await change(1, 'add', '\\Flagged')).changedCount, 0)
  assert.ok(endedSyncs() > before + 1)
})

test('a thousand messages go together, one more waits for the next transaction', async (t) => {
  const { change, flagsOf, syncCount } = await setup(t, 1001)
  const uids = Array.from({ length: 500 }, (_, index) => 2 * index + 1)
  const before = syncCount()
  await Promise.all([
    change(1, 'add', '\\Seen'),
    change(uids, 'add', '\\Flagged'),
    change(uids, 'add', '\\Answered'),
    change(2, 'add', '\\Seen')
  ])
  assert.equal(syncCount() - before, 2)
  assert.deepEqual(
    [flagsOf(1), flagsOf(2), flagsOf(3), flagsOf(999), flagsOf(1001)].map((flags) => flags.sort()),
    [
      ['\\Answered', '\\Flagged', '\\Seen'],
      ['\\Seen'],
      ['\\Answered', '\\Flagged'],
      ['\\Answered', '\\Flagged'],
      []
    ]
  )
})

test('one that fails among its messages leaves all of them as they were, alone and beside others', async (t) => {
  const { store, view, change, flagsOf, ...account } = await setup(t, 100)
  const db = rawHandle(account)
  t.after(() => db.close())
  db.exec(`CREATE TRIGGER stop BEFORE UPDATE ON messages WHEN NEW.id & 4294967295 = 50 BEGIN
    SELECT RAISE (FAIL, 'stopped');
  END`)
  const all = Array.from({ length: 100 }, (_, index) => index + 1)
  const { highestModSeq } = view
  const isUntouched = () => {
    assert.equal(db.prepare('SELECT sum(flags + keywords) FROM messages').pluck().get(), 0)
    assert.ok(all.every((uid) => flagsOf(uid).length === 0))
    assert.equal(view.highestModSeq, highestModSeq)
  }
  await assert.rejects(change(all, 'add', '\\Answered'))
  isUntouched()
  const together = [change(1, 'add', '\\Seen'), change(all, 'add', '\\Flagged', '$work')]
  const outcomes = await Promise.allSettled(together)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected']
  )
  isUntouched()
  db.exec('DROP TRIGGER stop')
  assert.equal((await change(all, 'add', '\\Answered')).changedCount, 100)
  assert.equal((await change(all, 'set', '$work')).changedCount, 100)
  assert.equal((await change(all, 'set', '$work')).changedCount, 0)
  assert.deepEqual([flagsOf(1), flagsOf(100)], [['$work'], ['$work']])
  assert.deepEqual((await store.verify()).problems, [])
})
