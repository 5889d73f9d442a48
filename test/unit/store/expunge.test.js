/**
 * Messages are expunged, and what is told of them afterwards.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toRanges } from '../../../src/store/expunge.js'
import {
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  sweepAll
} from '../../helpers/account-folder.js'
import { firstUids, openInbox } from '../../helpers/open-inbox.js'
import { countTurns } from '../../helpers/turns.js'

test('what is expunged is logged in ranges, and its content goes when nothing else refers to it', async (t) => {
  const { store, view } = await openInbox(t)
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
  const { store, view } = await openInbox(t)
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

test('EXPUNGE takes exactly what has \\Deleted among those that are asked for, in runs or alone', async (t) => {
  const { store, view } = await openInbox(t)
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
  const { store, view } = await openInbox(t)
  await appendMany(store, 'INBOX', 3001)
  const odd = firstUids(3001).filter((uid) => uid % 2 === 1)
  await store.changeFlags({ view, uids: odd, action: 'add', flags: ['\\Deleted'] })
  const attachment = view.attach(() => {})
  assert.deepEqual(await store.expunge({ view, uids: null }), odd)
  const pages = attachment.take().map((record) => record.kind === 'expunge' && record.slots.length)
  assert.deepEqual(pages, [500, 500, 500, 1])
})

test('EXPUNGE of more messages than a page takes all of them, and tells the view page by page', async (t) => {
  const { store, view } = await openInbox(t)
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
