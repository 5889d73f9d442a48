import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import test from 'node:test'
import fc from 'fast-check'
import { SequenceSet } from '../../../../src/imap/protocol/values/sequence-set.js'
import { openAccountStore } from '../../../../src/store/account-store.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../../helpers/corpus.js'
import { searchTree } from '../../../helpers/search-tree.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'
import { systemClock as clock } from '../../../../src/support/clock.js'
import {
  check,
  expungeAll,
  keysAbout,
  knownOf,
  makeOlder,
  pendingCount,
  searcher,
  smallMail
} from '../../../helpers/index-oracle.js'

/** @import { Known } from '../../../helpers/index-oracle.js' */

test(
  'random terms and trees find the same with the index, half of it, and none, in mail of all kinds',
  { skip: corpusIsMissing, timeout: 600_000 },
  async (t) => {
    const store = await temporaryStore(t)
    const mails = [...everydayMessages({ every: 31 }), ...tortureMessages({ every: 6 })]
    const known = new Map(mails.map(({ bytes }, index) => [index + 1, knownOf(bytes)]))
    const half = mails.length >> 1
    await appendAll(store, 'INBOX', mails.slice(0, half))
    await store.indexSearch()
    await appendAll(store, 'INBOX', mails.slice(half))
    const keys = searchTree(keysAbout([...known.values()]), 2)
    const searching = await searcher(store, 'INBOX')
    const property = fc.asyncProperty(keys, (key) => check(searching, known, key))
    await t.test('half', () => fc.assert(property, { numRuns: 60 }))
    await store.indexSearch()
    await t.test('whole', () => fc.assert(property, { numRuns: 150 }))
    assert.deepEqual((await store.verify()).problems, [])
  }
)

/** @typedef {{ op: 'append', mails: Buffer[] } | { op: 'expunge', every: number } | { op: 'copy', every: number } | { op: 'index' | 'sweep' | 'older' | 'reopen' }} Step */

/** @type {fc.Arbitrary<Step>} */
const step = fc.oneof(
  fc.record({
    op: fc.constant('append'),
    mails: fc.array(smallMail, { minLength: 1, maxLength: 30 })
  }),
  fc.record({ op: fc.constantFrom('expunge', 'copy'), every: fc.integer({ min: 2, max: 9 }) }),
  fc.record({ op: fc.constantFrom('index', 'sweep', 'older', 'reopen') })
)

test(
  'after any appends, expunges, copies, sweeps, reopening and indexing anew, the answers are exact',
  { timeout: 600_000 },
  async (t) => {
    const start = fc.sample(smallMail, { numRuns: 200, seed: 7 })
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 12 }),
      async (steps) => {
        const key = Buffer.alloc(32, 7)
        let store = await temporaryStore(t, { key })
        /** @type {Map<number, Known>} */
        const known = new Map()
        const append = async (/** @type {Buffer[]} */ mails) => {
          const first = (await store.mailboxStatus('INBOX')).uidNext
          await appendAll(
            store,
            'INBOX',
            mails.map((bytes) => ({ bytes }))
          )
          mails.forEach((bytes, index) => known.set(first + index, knownOf(bytes)))
        }
        await append(start)
        await store.indexSearch()
        const change = async (
          /** @type {'expunge' | 'copy'} */ op,
          /** @type {number} */ every
        ) => {
          const { view } = await store.openView('INBOX')
          const uids = [...known.keys()].filter((uid) => uid % every === 0)
          if (op === 'copy') {
            const copied = await store.copyMessages({ from: view, uids, toMailbox: 'INBOX' })
            copied.uids.forEach((uid, index) => {
              known.set(uid, /** @type {Known} */ (known.get(Number(copied.sourceUids[index]))))
            })
          } else await expungeAll(store, view, uids, (uid) => known.delete(uid))
          store.closeView(view)
        }
        for (const each of steps) {
          if ('mails' in each) await append(each.mails)
          else if ('every' in each) await change(each.op, each.every)
          else if (each.op === 'index') await store.indexSearch()
          else if (each.op === 'sweep') await store.upkeep.sweep()
          else if (each.op === 'older') await makeOlder(store)
          else {
            await store.close()
            store = await openAccountStore({ folder: store.folder, key, clock })
          }
        }
        const searching = await searcher(store, 'INBOX')
        const keys = fc.sample(searchTree(keysAbout([...known.values()]), 2), 12)
        for (const searchKey of keys) await check(searching, known, searchKey)
        assert.deepEqual((await store.verify()).problems, [])
        await store.close()
      }
    )
    await fc.assert(property, { numRuns: 12 })
  }
)

test('text of too many different words is left out and found all the same', async (t) => {
  const store = await temporaryStore(t)
  const letters = (/** @type {number} */ number) =>
    number.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'.charAt(Number(digit)))
  const words = Array.from({ length: 150_000 }, (_, index) => letters(index + 20_000))
  const long = Buffer.from(`Subject: long\r\n\r\n${words.join('\r\n')}\r\nthe needle\r\n`)
  const short = fc.sample(smallMail, { numRuns: 150, seed: 17 }).map((bytes) => ({ bytes }))
  await appendAll(store, 'INBOX', [{ bytes: long }, ...short])
  await store.indexSearch()
  assert.equal(await pendingCount(store), 1)
  await store.indexSearch()
  const { find } = await searcher(store, 'INBOX')
  assert.deepEqual(await find({ op: 'body', value: 'THE NEEDLE' }), [1])
  assert.deepEqual(await find({ op: 'header', field: 'subject', value: 'long' }), [1])
})

test('a large text is indexed however long it is, and its words are found across its pieces', async (t) => {
  const store = await temporaryStore(t)
  const line = `${'long filler of words '.repeat(3)}\r\n`
  const head = 'Subject: long\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  const text = `${line.repeat(Math.ceil(4e6 / line.length))}${'needleneedle'.repeat(30_000)} the end\r\n`
  const lines = Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n')
  const short = fc.sample(smallMail, { numRuns: 150, seed: 17 }).map((bytes) => ({ bytes }))
  await appendAll(store, 'INBOX', [{ bytes: Buffer.from(head + lines) }, ...short])
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  const { find } = await searcher(store, 'INBOX')
  for (const value of ['Words LONG', 'filler', 'leneedlenee', 'needle the end', 'eedle', 'e t'])
    assert.deepEqual((await find({ op: 'body', value })).slice(0, 1), [1], value)
  assert.deepEqual(await find({ op: 'body', value: 'needles' }), [])
})

test('a long search in the thread is called off with its client, and others go on', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 600 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${index}\r\n\r\n${'filler text '.repeat(3000)}${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  const { find } = await searcher(store, 'INBOX')
  const controller = new AbortController()
  const called = find({ op: 'body', value: 'no' }, controller.signal)
  const other = find({ op: 'body', value: '99' })
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  controller.abort(new Error('the client has gone'))
  await assert.rejects(called, /the client has gone/)
  assert.deepEqual(
    await other,
    mails.map((_, index) => index + 1).filter((uid) => `${uid - 1}`.includes('99'))
  )
  const closing = find({ op: 'body', value: 'no' })
  await Promise.all([
    store.close(),
    closing.catch((error) => assert.equal(error.code, 'SHUTTING_DOWN'))
  ])
})

test('keys of the view and of rows go with the index, in the thread as well', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 900 }, (_, index) => ({
    bytes: Buffer.from(
      `Subject: number ${index}\r\n\r\n${index % 2 ? 'bananas' : 'bandana nana'} ${index}\r\n`
    ),
    flags: index % 3 === 0 ? ['\\Seen'] : []
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const { find, uids } = await searcher(store, 'INBOX')
  const seen = { op: /** @type {const} */ ('flag'), flag: '\\Seen', isSet: true }
  // Its trigrams are all in "bandana nana" too, so that each message must be looked at.
  const banana = { op: /** @type {const} */ ('body'), value: 'anana' }
  const isSeen = (/** @type {number} */ uid) => (uid - 1) % 3 === 0
  const hasBanana = (/** @type {number} */ uid) => (uid - 1) % 2 === 1
  assert.deepEqual(
    await find({ op: 'and', keys: [seen, banana] }),
    uids().filter((uid) => isSeen(uid) && hasBanana(uid))
  )
  assert.deepEqual(
    await find({ op: 'or', left: seen, right: banana }),
    uids().filter((uid) => isSeen(uid) || hasBanana(uid))
  )
  assert.deepEqual(
    await find({ op: 'not', key: { op: 'or', left: seen, right: banana } }),
    uids().filter((uid) => !isSeen(uid) && !hasBanana(uid))
  )
  const set = SequenceSet.parse('2:800')
  assert.deepEqual(
    await find({ op: 'and', keys: [{ op: 'uid', set }, { op: 'not', key: seen }, banana] }),
    uids().filter((uid) => uid >= 2 && uid <= 800 && !isSeen(uid) && hasBanana(uid))
  )
})
