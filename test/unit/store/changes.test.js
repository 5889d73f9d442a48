import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { toRanges } from '../../../src/store/expunge.js'
import {
  accountFolder,
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  sweepAll
} from '../../helpers/account-folder.js'
import { countTurns } from '../../helpers/turns.js'

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const namesOf = (/** @type {number} */ uid) => {
    const slot = view.slotOf(uid)
    return store.keywords.flagNames(view.flags[slot] ?? 0, view.keywords[slot] ?? 0)
  }
  return { ...account, store, view, namesOf }
}

/** @param {number} count */
const firstUids = (count) => Array.from({ length: count }, (_, index) => index + 1)

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

for (const count of [5, 2300]) {
  test(`copying ${count} messages shares their contents and keeps flags and dates`, async (t) => {
    const { store, view } = await setup(t)
    await appendMany(store, 'INBOX', count, ['\\Flagged', '$Work'])
    await appendOne(store, 'Sent', makeMessage('there before'))
    const target = (await store.openView('Sent')).view
    const attachment = target.attach(() => {})
    const result = await store.copyMessages({
      from: view,
      uids: [...firstUids(count), 999_999],
      toMailbox: 'Sent'
    })
    assert.deepEqual(result.sourceUids, firstUids(count))
    assert.deepEqual(
      result.uids,
      firstUids(count).map((uid) => uid + 1)
    )
    assert.equal(result.uidValidity, target.uidValidity)
    assert.deepEqual(attachment.take(), [{ kind: 'append', fromSlot: 1, toSlot: count + 1 }])
    const [source] = await store.readMessages(view.mailboxId, [1], {})
    const [copy] = await store.readMessages(target.mailboxId, [2], {})
    assert.ok(source && copy)
    assert.deepEqual({ ...copy, uid: 1, modSeq: 2, savedAtMs: 0 }, { ...source, savedAtMs: 0 })
    assert.equal(view.aliveCount, count)
    assert.deepEqual((await store.verify()).contents, 2)
  })

  test(`moving ${count} messages tells both mailboxes`, async (t) => {
    const { store, view } = await setup(t)
    await appendMany(store, 'INBOX', count + 1)
    const target = (await store.openView('Sent')).view
    const attachments = [view.attach(() => {}), target.attach(() => {})]
    const origin = 'me'
    const after = view.highestModSeq
    await store.moveMessages({ from: view, uids: firstUids(count), toMailbox: 'Sent', origin })
    assert.deepEqual(aliveUids(view), [count + 1])
    assert.deepEqual(aliveUids(target), firstUids(count))
    assert.deepEqual(attachments[0]?.take(), [
      { kind: 'expunge', slots: firstUids(count).map((uid) => uid - 1), after, origin }
    ])
    assert.deepEqual(attachments[1]?.take(), [{ kind: 'append', fromSlot: 0, toSlot: count }])
    assert.deepEqual((await store.verify()).problems, [])
  })
}

test('moving within one mailbox gives new UIDs', async (t) => {
  const { store, view } = await setup(t)
  await appendMany(store, 'INBOX', 3)
  const { uids } = await store.moveMessages({ from: view, uids: [1, 3], toMailbox: 'INBOX' })
  assert.deepEqual(uids, [4, 5])
  assert.deepEqual(aliveUids(view), [2, 4, 5])
  assert.equal(view.highestModSeq, (await store.mailboxStatus('INBOX')).highestModSeq)
})

test('copying to a mailbox that is not there answers MAILBOX_NOT_FOUND', async (t) => {
  const { store, view } = await setup(t)
  await appendMany(store, 'INBOX', 1)
  await assert.rejects(store.copyMessages({ from: view, uids: [1], toMailbox: 'Nowhere' }), {
    code: 'MAILBOX_NOT_FOUND'
  })
})

test('a copy in a thread that fails changes nothing and says why', async (t) => {
  const { store, view } = await setup(t)
  const uids = await appendMany(store, 'INBOX', 2100)
  await assert.rejects(store.copyMessages({ from: view, uids, toMailbox: 'Nowhere' }), {
    code: 'MAILBOX_NOT_FOUND'
  })
  assert.deepEqual(await store.usage(), {
    bytes: 2100 * makeMessage('the same').length,
    messages: 2100
  })
})

test('writes go on while a large copy runs in its thread, and every view ends up right', async (t) => {
  const { store, view } = await setup(t)
  const uids = await appendMany(store, 'INBOX', 2500)
  const target = (await store.openView('Sent')).view
  const copying = store.copyMessages({ from: view, uids, toMailbox: 'Sent' })
  for (let i = 0; i < 30; i++) {
    await appendOne(store, 'Sent', makeMessage(`between ${i}`))
    await store.changeFlags({ view, uids: [i + 1], action: 'add', flags: ['\\Flagged'] })
  }
  await copying
  assert.equal(target.aliveCount, 2530)
  const status = await store.mailboxStatus('Sent')
  assert.deepEqual([target.highestModSeq, target.uidNext], [status.highestModSeq, status.uidNext])
  assert.deepEqual((await store.verify()).problems, [])
})

test('what is expunged is logged in ranges, and its content goes when nothing else refers to it', async (t) => {
  const { store, view } = await setup(t)
  for (let i = 0; i < 6; i++) await appendOne(store, 'INBOX', makeMessage(`m${i}`, 300_000))
  await store.copyMessages({ from: view, uids: [2], toMailbox: 'Archive' })
  await store.changeFlags({ view, uids: [1, 2, 3, 5], action: 'add', flags: ['\\Deleted'] })
  assert.deepEqual(await store.expunge({ view, uids: null }), [1, 2, 3, 5])
  assert.deepEqual(await store.readExpunged(view.mailboxId, 0), {
    isComplete: true,
    ranges: [
      { first: 1, last: 3 },
      { first: 5, last: 5 }
    ]
  })
  const since = (await store.mailboxStatus('INBOX')).highestModSeq
  assert.deepEqual((await store.readExpunged(view.mailboxId, since)).ranges, [])
  await sweepAll(store)
  const report = await store.verify()
  assert.deepEqual([report.problems, report.contents], [[], 3])
})

test('what is expunged is read in pages, between which others have their turn', async (t) => {
  const { store, view } = await setup(t)
  await appendMany(store, 'INBOX', 8001)
  const odd = firstUids(8001).filter((uid) => uid % 2 === 1)
  await store.changeFlags({ view, uids: odd, action: 'add', flags: ['\\Deleted'] })
  // The second half first: MODSEQs do not rise with UIDs.
  for (const uids of [odd.slice(2000), odd.slice(0, 2000)]) await store.expunge({ view, uids })
  const { answer, turns } = await countTurns(() => store.readExpunged(view.mailboxId, 0))
  const { isComplete, ranges } = answer
  assert.equal(isComplete, true)
  assert.deepEqual(ranges, toRanges(odd))
  assert.ok(turns >= 2, `${turns} turns`)
})

test('runs of UIDs become ranges', () => {
  assert.deepEqual(toRanges([]), [])
  assert.deepEqual(toRanges([4]), [{ first: 4, last: 4 }])
  assert.deepEqual(toRanges([1, 2, 3, 7, 9, 10]), [
    { first: 1, last: 3 },
    { first: 7, last: 7 },
    { first: 9, last: 10 }
  ])
})

test('MODSEQ only rises, whatever is done', async (t) => {
  const { store, view } = await setup(t)
  let last = view.highestModSeq
  const steps = [
    () => appendMany(store, 'INBOX', 3),
    () => store.changeFlags({ view, uids: [1], action: 'add', flags: ['\\Deleted'] }),
    () => store.copyMessages({ from: view, uids: [1], toMailbox: 'INBOX' }),
    () => store.expunge({ view, uids: null }),
    () => store.moveMessages({ from: view, uids: [2], toMailbox: 'Sent' })
  ]
  for (const step of steps) {
    await step()
    const { highestModSeq } = await store.mailboxStatus('INBOX')
    assert.ok(highestModSeq > last)
    assert.equal(view.highestModSeq, highestModSeq)
    last = highestModSeq
  }
})

test('EXPUNGE takes exactly what has \\Deleted among those that are asked for, in runs or alone', async (t) => {
  const { store, view } = await setup(t)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.boolean(), fc.boolean(), fc.nat(3)), { minLength: 1, maxLength: 60 }),
      async (messages) => {
        const first = view.uidNext
        await appendMany(store, 'INBOX', messages.length)
        const uidsOf = (/** @type {(message: [boolean, boolean, number]) => boolean} */ isIt) =>
          messages.flatMap((message, index) => (isIt(message) ? [first + index] : []))
        // Some are gone before, others have \\Deleted and are not asked for, others are asked for without it.
        const before = uidsOf(([, , dice]) => dice === 0)
        await store.moveMessages({ from: view, uids: before, toMailbox: 'Archive' })
        const marked = uidsOf(([isMarked, , dice]) => isMarked && dice !== 0)
        await store.changeFlags({ view, uids: marked, action: 'add', flags: ['\\Deleted'] })
        const asked = uidsOf(([, isAsked]) => isAsked)
        const wanted = marked.filter((uid) => asked.includes(uid))
        const alive = aliveUids(view)
        const modSeq = view.highestModSeq
        assert.deepEqual(await store.expunge({ view, uids: asked }), wanted)
        assert.deepEqual(
          aliveUids(view),
          alive.filter((uid) => !wanted.includes(uid))
        )
        const { ranges } = await store.readExpunged(view.mailboxId, modSeq)
        assert.deepEqual(ranges, toRanges(wanted))
      }
    ),
    { numRuns: 40 }
  )
  await store.expunge({ view, uids: null })
  await sweepAll(store)
  assert.deepEqual((await store.verify()).problems, [])
})

test('EXPUNGE of messages that stand alone takes fewer in one transaction', async (t) => {
  const { store, view } = await setup(t)
  await appendMany(store, 'INBOX', 3001)
  const odd = firstUids(3001).filter((uid) => uid % 2 === 1)
  await store.changeFlags({ view, uids: odd, action: 'add', flags: ['\\Deleted'] })
  const attachment = view.attach(() => {})
  assert.deepEqual(await store.expunge({ view, uids: null }), odd)
  const pages = attachment.take().map((record) => record.kind === 'expunge' && record.slots.length)
  assert.deepEqual(pages, [750, 750, 1])
})

test('EXPUNGE of more messages than a page takes all of them, and tells the view page by page', async (t) => {
  const { store, view } = await setup(t)
  await appendMany(store, 'INBOX', 7001, ['\\Deleted'])
  const attachment = view.attach(() => {})
  const gone = await store.expunge({ view, uids: null })
  assert.deepEqual(gone, firstUids(7001))
  assert.deepEqual(
    attachment.take().map((record) => record.kind === 'expunge' && record.slots.length),
    [2000, 2000, 2000, 1001]
  )
  assert.equal(view.aliveCount, 0)
  assert.deepEqual((await store.verify()).problems, [])
})

test('a move leaves nothing to the sweep: the contents are in use', async (t) => {
  // It would begin by itself.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, view, folder, key } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  await store.moveMessages({ from: view, uids: [1], toMailbox: 'Archive' })
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  assert.equal(db.prepare('SELECT count(*) FROM garbage_contents').pluck().get(), 0)
  const archive = await store.openView('Archive')
  await store.changeFlags({ view: archive.view, uids: [1], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view: archive.view, uids: null })
  assert.equal(db.prepare('SELECT count(*) FROM garbage_contents').pluck().get(), 1)
  await sweepAll(store)
  assert.equal((await store.verify()).contents, 0)
})
