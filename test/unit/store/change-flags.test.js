/**
 * Flags of messages are changed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aliveUids, appendMany, appendOne, makeMessage } from '../../helpers/account-folder.js'
import { firstUids, openInbox } from '../../helpers/open-inbox.js'

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const inbox = await openInbox(t)
  const { store, view } = inbox
  const namesOf = (/** @type {number} */ uid) => {
    const slot = view.slotOf(uid)
    return store.keywords.flagNames(view.flags[slot] ?? 0, view.keywords[slot] ?? 0)
  }
  return { ...inbox, namesOf }
}

test('flags are set, added and removed, and only what changes gets a new modseq', async (t) => {
  const { store, view, namesOf } = await setup(t)
  await appendMany(store, 'INBOX', 3, ['\\Seen'])
  const origin = { session: 1 }
  const attachment = view.attach(() => {})
  const added = await store.changeFlags({
    view,
    uids: [1, 2],
    action: 'add',
    flags: ['\\Flagged', '$Work'],
    origin
  })
  assert.deepEqual(added, { changedCount: 2, failedUids: [], modSeq: 3 })
  assert.deepEqual(namesOf(1), ['\\Flagged', '\\Seen', '$Work'])
  const again = await store.changeFlags({ view, uids: [1, 2, 3], action: 'add', flags: ['$WORK'] })
  assert.deepEqual(again, { changedCount: 1, failedUids: [], modSeq: 4 })
  await store.changeFlags({ view, uids: [1], action: 'remove', flags: ['\\Seen', 'unknown'] })
  assert.deepEqual(namesOf(1), ['\\Flagged', '$Work'])
  await store.changeFlags({ view, uids: [1], action: 'set', flags: ['\\Draft'] })
  assert.deepEqual(namesOf(1), ['\\Draft'])
  const nothing = await store.changeFlags({
    view,
    uids: [1, 99],
    action: 'set',
    flags: ['\\draft']
  })
  assert.deepEqual(nothing, { changedCount: 0, failedUids: [], modSeq: 6 })
  assert.deepEqual(attachment.take(), [
    { kind: 'flags', slots: [0, 1], origin },
    { kind: 'flags', slots: [2], origin: null },
    { kind: 'flags', slots: [0], origin: null },
    { kind: 'flags', slots: [0], origin: null }
  ])
  assert.equal(store.findFlag('unknown'), null)
})

test('what changed after UNCHANGEDSINCE is left alone and named', async (t) => {
  const { store, view, namesOf } = await setup(t)
  await appendMany(store, 'INBOX', 3)
  await store.changeFlags({ view, uids: [2], action: 'add', flags: ['\\Seen'] })
  const result = await store.changeFlags({
    view,
    uids: [1, 2, 3],
    action: 'add',
    flags: ['\\Flagged'],
    unchangedSince: 2
  })
  assert.deepEqual(result, { changedCount: 2, failedUids: [2], modSeq: 4 })
  assert.deepEqual(namesOf(2), ['\\Seen'])
})

test('an account has 59 keywords; one more answers LIMIT and changes nothing, and new messages come without it', async (t) => {
  const { store, view, namesOf } = await setup(t)
  await appendMany(store, 'INBOX', 1)
  const all = Array.from({ length: 59 }, (_, index) => `kw${index}`)
  for (const flags of [all.slice(0, 30), all.slice(30)])
    await store.changeFlags({ view, uids: [1], action: 'add', flags })
  assert.deepEqual(namesOf(1), all)
  assert.equal(store.keywords.isFull, true)
  await assert.rejects(store.changeFlags({ view, uids: [1], action: 'add', flags: ['more'] }), {
    code: 'LIMIT'
  })
  await store.changeFlags({ view, uids: [1], action: 'remove', flags: ['more', 'kw58'] })
  assert.deepEqual(namesOf(1), all.slice(0, 58))
  await appendOne(store, 'INBOX', makeMessage(), ['KW58', 'more', '\\Seen'])
  assert.deepEqual(namesOf(2), ['\\Seen', 'kw58'])
})

test('the counters follow the rows', async (t) => {
  const { store, view } = await setup(t)
  const counters = async () => {
    const { messageCount, unseenCount, deletedCount, totalBytes } =
      await store.mailboxStatus('INBOX')
    return [messageCount, unseenCount, deletedCount, totalBytes]
  }
  const size = makeMessage('the same').length
  await appendMany(store, 'INBOX', 4)
  await appendMany(store, 'INBOX', 2, ['\\Seen', '\\Deleted'])
  assert.deepEqual(await counters(), [6, 4, 2, 6 * size])
  await store.changeFlags({ view, uids: [1, 5], action: 'set', flags: ['\\Seen'] })
  assert.deepEqual(await counters(), [6, 3, 1, 6 * size])
  await store.changeFlags({ view, uids: [2, 3], action: 'add', flags: ['\\Deleted'] })
  assert.deepEqual(await counters(), [6, 3, 3, 6 * size])
  assert.deepEqual(await store.expunge({ view, uids: [3, 4, 6] }), [3, 6])
  assert.deepEqual(await counters(), [4, 2, 1, 4 * size])
  await store.moveMessages({ from: view, uids: [2], toMailbox: 'Sent' })
  assert.deepEqual(await counters(), [3, 1, 0, 3 * size])
  assert.deepEqual((await store.verify()).problems, [])
})

test('flags of more messages than a page are all changed, each page with its own modseq', async (t) => {
  const { store, view } = await setup(t)
  await appendMany(store, 'INBOX', 9000)
  const modSeqs = () => [...new Set(view.modSeqs.subarray(0, view.length))]
  const all = { view, uids: firstUids(9000), action: /** @type {const} */ ('add') }
  // In one run of UIDs, and scattered.
  assert.equal((await store.changeFlags({ ...all, flags: ['\\Seen'] })).changedCount, 9000)
  assert.deepEqual(modSeqs(), [3, 4])
  const uids = firstUids(4500).map((uid) => uid * 2)
  const result = await store.changeFlags({ ...all, uids, flags: ['\\Flagged'] })
  assert.deepEqual(result, { changedCount: 4500, failedUids: [], modSeq: 9 })
  assert.deepEqual(modSeqs(), [3, 5, 6, 7, 8, 4, 9])
  // Those of the last page have changed since, and the keyword is new.
  const since = await store.changeFlags({ ...all, flags: ['$New'], unchangedSince: 8 })
  assert.deepEqual([since.changedCount, since.failedUids], [8500, uids.slice(4000)])
  assert.ok(store.keywords.names.includes('$New'))
})

test('STORE over runs and scattered messages does what it says, in the view and in the file', async (t) => {
  const { store, view, open } = await setup(t)
  const FLAGS = [
    '\\Seen',
    '\\Deleted',
    '\\Flagged',
    '$one',
    '$two',
    ...firstUids(40).map((n) => `k${n}`)
  ]
  await appendMany(store, 'INBOX', 60)
  await store.changeFlags({ view, uids: [7, 8, 30, 59], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  /** @type {Map<number, Set<string>>} */
  const model = new Map(aliveUids(view).map((uid) => [uid, new Set()]))
  const namesOf = (/** @type {typeof view} */ of, /** @type {typeof store} */ from) =>
    aliveUids(of).map((uid) => {
      const slot = of.slotOf(uid)
      return [uid, from.keywords.flagNames(of.flags[slot] ?? 0, of.keywords[slot] ?? 0).sort()]
    })
  const expected = () => [...model].map(([uid, names]) => [uid, [...names].sort()])
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        /** @type {const} */ ('set'),
        /** @type {const} */ ('add'),
        /** @type {const} */ ('remove')
      ),
      fc.subarray(FLAGS, { maxLength: 4 }),
      fc.tuple(fc.nat(60), fc.nat(60), fc.boolean()),
      fc.option(fc.nat(6)),
      async (action, flags, [from, to, isScattered], changesBack) => {
        const uids = aliveUids(view).filter(
          (uid) => uid >= from && uid <= to && !(isScattered && uid % 3 === 0)
        )
        const unchangedSince = changesBack === null ? null : view.highestModSeq - changesBack
        const isLeftAlone = (/** @type {number} */ uid) =>
          unchangedSince !== null &&
          /** @type {number} */ (view.modSeqs[view.slotOf(uid)]) > unchangedSince
        const leftAlone = uids.filter(isLeftAlone)
        const before = new Map(expected().map(([uid, names]) => [uid, String(names)]))
        for (const uid of uids) {
          if (leftAlone.includes(uid)) continue
          const names = /** @type {Set<string>} */ (model.get(uid))
          if (action === 'set') names.clear()
          for (const name of flags) action === 'remove' ? names.delete(name) : names.add(name)
        }
        const changed = expected().filter(([uid, names]) => before.get(uid) !== String(names))
        const request = { view, uids, action, flags, unchangedSince }
        const { changedCount, failedUids } = await store.changeFlags(request)
        assert.deepEqual([changedCount, failedUids], [changed.length, leftAlone])
        assert.deepEqual(namesOf(view, store), expected())
      }
    ),
    { numRuns: 200 }
  )
  assert.deepEqual((await store.verify()).problems, [])
  const reader = await open({ isReadOnly: true })
  assert.deepEqual(namesOf((await reader.openView('INBOX')).view, reader), expected())
})

test('a lazy change is told when it is on the disk', async (t) => {
  const { store, view, namesOf } = await setup(t)
  await appendMany(store, 'INBOX', 1)
  const { modSeq } = await store.changeFlags({
    view,
    uids: [1],
    action: 'add',
    flags: ['\\Seen'],
    isLazy: true
  })
  assert.equal(modSeq, 3)
  await store.sync()
  assert.deepEqual(namesOf(1), ['\\Seen'])
})
