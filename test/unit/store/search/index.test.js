import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { SequenceSet } from '../../../../src/imap/protocol/values/sequence-set.js'
import { openAccountStore } from '../../../../src/store/account-store.js'
import { readIndexState, resetStep } from '../../../../src/store/search/index-rows.js'
import { INDEX_VERSION } from '../../../../src/store/search/index-text.js'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../../helpers/corpus.js'
import { matchesByScan, readWhole } from '../../../helpers/search-oracle.js'
import { searchTree } from '../../../helpers/search-tree.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'
import { systemClock as clock } from '../../../../src/support/clock.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../helpers/search-oracle.js').ReadableMessage & { size: number }} Known */

/**
 * @param {AccountStore} store
 * @param {string} mailbox
 * @returns {Promise<{ find: (key: SearchKey, signal?: AbortSignal) => Promise<number[]>, uids: () => number[] }>}
 *   a search that tells UIDs, and the UIDs that there are
 */
async function searcher(store, mailbox) {
  const { view, selected } = await selectIn(store, mailbox)
  return {
    find: async (key, signal) => {
      const request = { store, view, selected, key, clock, ...(signal && { signal }) }
      const slots = await searchMessages(request)
      return slots.map((slot) => /** @type {number} */ (view.uids[slot]))
    },
    uids: () => [...view.uids.subarray(0, view.length)].filter((_, slot) => !view.isExpunged(slot))
  }
}

/**
 * @param {Known[]} known
 * @returns {fc.Arbitrary<SearchKey>} about text that is somewhere in these messages, or nearly
 */
function keysAbout(known) {
  const term = fc
    .record({
      message: fc.nat({ max: known.length - 1 }),
      inHeader: fc.boolean(),
      place: fc.nat(),
      length: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 3, max: 40 })),
      isSwapped: fc.boolean(),
      isBroken: fc.integer({ min: 0, max: 5 })
    })
    .map(({ message, inHeader, place, length, isSwapped, isBroken }) => {
      const { header, pieces } = /** @type {Known} */ (known[message])
      const text = inHeader ? header : (pieces[place % (pieces.length || 1)] ?? header)
      const letters = [...text.slice(0, 20_000).toWellFormed()]
      const start = place % (letters.length || 1)
      const chosen = letters
        .slice(start, start + length)
        .map((letter) => swapped(letter, isSwapped))
      if (isBroken === 0) chosen.splice(chosen.length >> 1, 1, 'ж')
      return chosen.join('')
    })
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ op: fc.constantFrom('body', 'text'), value: term }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('header'),
        field: fc.constantFrom('subject', 'FROM', 'to', 'cc', 'bcc', 'Message-ID', 'received'),
        value: term
      })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constantFrom('larger', 'smaller'),
        size: fc.integer({ min: 500, max: 20_000 })
      })
    }
  )
}

/**
 * @param {string} letter
 * @param {boolean} isSwapped
 * @returns {string} in the other case, where that is one letter for one and folds to the same
 */
function swapped(letter, isSwapped) {
  const upper = letter.toUpperCase()
  const other = upper === letter ? letter.toLowerCase() : upper
  const isPair = [...other].length === 1 && /^\p{L}$/u.test(letter)
  return isSwapped && isPair && new RegExp(`^${letter}$`, 'iu').test(other) ? other : letter
}

/**
 * @param {Buffer} bytes
 * @returns {Known}
 */
const knownOf = (bytes) => ({ ...readWhole(bytes), size: bytes.length })

/**
 * @param {{ find: (key: SearchKey) => Promise<number[]> }} searching
 * @param {Map<number, Known>} known - by UID
 * @param {SearchKey} key
 */
async function check({ find }, known, key) {
  const expected = [...known].filter(([, message]) => matchesByScan(key, message))
  assert.deepEqual(
    await find(key),
    expected.map(([uid]) => uid).sort((left, right) => left - right),
    JSON.stringify(key)
  )
}

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

const WORDS =
  'meeting meetings Budget kernel linux Grüße Straße привет ПРИВЕТ κόσμος ΚΌΣΜΟΣ 日本語 メール שלום 안녕하세요 ' +
  'საქართველო 𞤀𞤣𞤤𞤢𞤥 😀😁😂 İstanbul ırmak ﬁnal ǅungla 2024 x1y2z3 a bc the and'
const vocabulary = WORDS.split(' ')

/** @type {fc.Arbitrary<Buffer>} */
const smallMail = fc
  .record({
    subject: fc.array(fc.constantFrom(...vocabulary), { maxLength: 3 }),
    from: fc.constantFrom('ann@example.org', 'Bob <bob@example.net>', 'Grüße <g@example.com>'),
    words: fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 8 }),
    glue: fc.constantFrom(' ', '', '-', '\r\n', '\0'),
    html: fc.boolean()
  })
  .map(({ subject, from, words, glue, html }) =>
    Buffer.from(
      `From: ${from}\r\nSubject: ${subject.join(' ')}\r\nMIME-Version: 1.0\r\n` +
        `Content-Type: text/${html ? 'html' : 'plain'}; charset=utf-8\r\n\r\n${words.join(glue)}\r\n`
    )
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
          else if (each.op === 'sweep') await store.sweep()
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

/**
 * @param {AccountStore} store
 * @param {import('../../../../src/store/mailbox-view.js').MailboxView} view
 * @param {number[]} uids
 * @param {(uid: number) => void} [onGone]
 */
async function expungeAll(store, view, uids, onGone = () => undefined) {
  const flags = ['\\Deleted']
  await store.changeFlags({ view, uids, action: 'add', flags, unchangedSince: null, origin: null })
  for (const uid of await store.expunge({ view, uids: null })) onGone(uid)
}

/**
 * @param {AccountStore} store - whose index becomes one that an older program has made, and wrong
 */
async function makeOlder(store) {
  await store.searchAccess.database.write((db) => {
    db.prepare('UPDATE search_state SET text_version = 1, indexed_count = 1').run()
  })
}

const CHILD = fileURLToPath(new URL('../../../helpers/index-child.js', import.meta.url))

test('kill -9 in the middle of indexing loses nothing, and it goes on at the next open', async (t) => {
  const key = Buffer.alloc(32, 9)
  let store = await temporaryStore(t, { key })
  const { folder } = store
  const mails = fc.sample(smallMail, { numRuns: 1500, seed: 11 })
  const unique = mails.map((bytes, index) =>
    Buffer.concat([bytes, Buffer.from(`number${index}\r\n`)])
  )
  await appendAll(
    store,
    'INBOX',
    unique.map((bytes) => ({ bytes }))
  )
  const known = new Map(unique.map((bytes, index) => [index + 1, knownOf(bytes)]))
  const keys = fc.sample(keysAbout([...known.values()]), 10)
  const progress = []
  for (let round = 0; round < 3; round++) {
    await store.close()
    const child = fork(CHILD, [folder, key.toString('hex')])
    // Listened for at once: it may have come to its end before it is killed.
    const exited = once(child, 'exit')
    await once(child, 'message')
    await sleep(round * 20)
    child.kill('SIGKILL')
    await exited
    store = await openAccountStore({ folder, key, clock })
    progress.push(await pendingCount(store))
    const searching = await searcher(store, 'INBOX')
    for (const searchKey of keys) await check(searching, known, searchKey)
    assert.deepEqual((await store.verify()).problems, [])
  }
  assert.ok(Number(progress[0]) < mails.length, `left to index after each kill: ${progress}`)
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  const searching = await searcher(store, 'INBOX')
  for (const searchKey of keys) await check(searching, known, searchKey)
  await store.close()
})

/**
 * @param {AccountStore} store
 * @returns {Promise<number>} contents that are not indexed
 */
function pendingCount(store) {
  return store.searchAccess.database.read((db) =>
    Number(db.prepare('SELECT count(*) FROM search_pending').pluck().get())
  )
}

test('what has come is indexed a while later, without being asked; what goes is taken out', async (t) => {
  const store = await temporaryStore(t)
  const mails = fc.sample(smallMail, { numRuns: 8, seed: 3 }).map((bytes) => ({ bytes }))
  await appendAll(store, 'INBOX', mails)
  assert.ok((await pendingCount(store)) > 0)
  while ((await pendingCount(store)) > 0) await sleep(50)
  const { view } = await store.openView('INBOX')
  await expungeAll(store, view, [...view.uids.subarray(0, view.length)])
  await store.sweep()
  const left = await store.searchAccess.database.read((db) =>
    db.prepare('SELECT count(*) FROM search_header_docsize').pluck().get()
  )
  assert.equal(left, 0)
  assert.deepEqual((await store.verify()).problems, [])
})

test('closing in the middle of indexing ends it, and the next open finishes it', async (t) => {
  const key = Buffer.alloc(32, 5)
  const store = await temporaryStore(t, { key })
  const mails = fc.sample(smallMail, { numRuns: 400, seed: 5 })
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes, index) => ({ bytes: Buffer.concat([bytes, Buffer.from(`${index}`)]) }))
  )
  const indexing = store.indexSearch()
  await sleep(30)
  await Promise.all([
    store.close(),
    indexing.catch((error) => assert.equal(error.code, 'SHUTTING_DOWN'))
  ])
  const again = await openAccountStore({ folder: store.folder, key, clock })
  await again.indexSearch()
  assert.equal(await pendingCount(again), 0)
  assert.deepEqual((await again.verify()).problems, [])
  await again.close()
})

test('an index that a newer program has made is neither asked nor changed', async (t) => {
  const store = await temporaryStore(t)
  const mails = fc.sample(smallMail, { numRuns: 200, seed: 13 })
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  await store.indexSearch()
  await store.searchAccess.database.write((db) => {
    db.prepare('UPDATE search_state SET text_version = 999999999').run()
    db.prepare('DELETE FROM search_blocks').run()
    db.prepare("INSERT INTO search_header (search_header) VALUES ('delete-all')").run()
  })
  await store.indexSearch()
  const known = new Map(mails.map((bytes, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  for (const value of ['meeting', 'Grüße', 'the'])
    for (const op of /** @type {const} */ (['body', 'text']))
      await check(searching, known, { op, value })
})

test('an index that older code has made is emptied in steps, and not asked until it is made anew', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  const mails = Array.from({ length: 1200 }, (_, index) => ({
    bytes: Buffer.from(`Subject: s${index}\r\n\r\ntext of number${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const known = new Map(mails.map(({ bytes }, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  const keys = /** @type {SearchKey[]} */ ([
    { op: 'text', value: 'mber77' },
    { op: 'header', field: 'subject', value: 's11' }
  ])
  await makeOlder(store)
  const stateOf = () => database.readSettled(readIndexState)
  const pending = []
  const versions = []
  for (let isMore = true; isMore;) {
    isMore = await database.write(resetStep)
    pending.push(await pendingCount(store))
    versions.push((await stateOf()).textVersion)
    for (const key of keys) await check(searching, known, key)
  }
  assert.deepEqual(pending, [500, 1000, 1200, 1200])
  // A process that still runs the older code must not take what is left for its index.
  assert.deepEqual(versions, [0, 0, 0, INDEX_VERSION])
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  const { indexedCount, deletedCount } = await stateOf()
  assert.equal(indexedCount - deletedCount, mails.length, 'what it is weighed by for merges')
  for (const key of keys) await check(searching, known, key)
  assert.deepEqual((await store.verify()).problems, [])
})

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
  await sleep(5)
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

test('after a large expunge the index gives its room back', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 1300 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${index}\r\n\r\n${(index * 2_654_435_761).toString(36)} same\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const postingBytes = () =>
    store.searchAccess.database.read((db) =>
      Number(db.prepare('SELECT sum(length(data)) FROM search_blocks').pluck().get())
    )
  const before = await postingBytes()
  const { view } = await store.openView('INBOX')
  const uids = [...view.uids.subarray(0, view.length)].filter((uid) => uid > 60)
  await expungeAll(store, view, uids)
  await store.sweep()
  await store.indexSearch()
  const after = await postingBytes()
  assert.ok(after < before / 5, `${before} bytes before, ${after} after`)
  const { find } = await searcher(store, 'INBOX')
  assert.equal((await find({ op: 'body', value: 'same' })).length, 60)
  assert.deepEqual((await store.verify()).problems, [])
})

test('a damaged index is told to the operator, and the mail is searched without it', async (t) => {
  /** @type {string[]} */
  const alerts = []
  const store = await temporaryStore(t, { onAlert: ({ code }) => alerts.push(code) })
  const mails = fc.sample(smallMail, { numRuns: 300, seed: 19 })
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  await store.indexSearch()
  await store.searchAccess.database.write((db) => {
    // Else SQLite keeps the tables of FTS5 from being written to.
    const { unsafeMode } = /** @type {{ unsafeMode: (isUnsafe: boolean) => unknown }} */ (
      /** @type {unknown} */ (db)
    )
    unsafeMode.call(db, true)
    db.prepare("UPDATE search_header_data SET block = x'00112233445566778899'").run()
    db.prepare("UPDATE search_blocks SET data = x'00112233445566778899'").run()
  })
  const known = new Map(mails.map((bytes, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  for (const op of /** @type {const} */ (['body', 'text']))
    await check(searching, known, { op, value: 'meeting' })
  await check(searching, known, { op: 'header', field: 'from', value: 'bob' })
  assert.ok(alerts.includes('ACCOUNT_DAMAGED'))
})

test('a store that has searched in the thread leaves no -wal behind', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 300 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${index}\r\n\r\nno ${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  const { find } = await searcher(store, 'INBOX')
  assert.equal((await find({ op: 'body', value: 'no' })).length, 300)
  await store.close()
  assert.equal(existsSync(join(store.folder, 'mail.db-wal')), false)
})
