/**
 * When the search index takes in what has come, and what it leaves for later while other mailboxes wait.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'node:test'
import { tryReserve } from '../../../../src/database/lock.js'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { chooseMerge } from '../../../../src/store/search/segment-merge.js'
import { readSegments } from '../../../../src/store/search/segment-rows.js'
import { systemClock as clock } from '../../../../src/support/clock.js'
import { accountFolder } from '../../../helpers/account-folder.js'
import { pendingCount } from '../../../helpers/index-oracle.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/** A gap between two commits after which the index takes what has come for all that comes, milliseconds. */
const QUIET_MS = 900

/** The same where little has come. */
const LITTLE_QUIET_MS = 9000

/** After so long it is indexed in any case, however much keeps coming. */
const MAX_DELAY_MS = 4.5 * 60_000

/**
 * @param {string} name
 * @param {number} count
 * @returns {{ bytes: Buffer }[]} messages with a word of their own each
 */
const mails = (name, count) =>
  Array.from({ length: count }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${name}\r\n\r\nword-${name}-${index}\r\n`)
  }))

/**
 * @param {number} size - bytes
 * @returns {{ bytes: Buffer }}
 */
const mailOf = (size) => ({ bytes: Buffer.alloc(size, 'Subject: large\r\n\r\nword ') })

/** @param {AccountStore} store */
const segmentsOf = (store) => store.searchAccess.database.read(readSegments)

/**
 * @param {AccountStore} store
 * @param {string} value
 * @returns {Promise<number>} messages of INBOX that have it in their body
 */
async function countFound(store, value) {
  const { view, selected } = await selectIn(store, 'INBOX')
  const key = /** @type {const} */ ({ op: 'body', value })
  const slots = await searchMessages({ store, view, selected, key, clock })
  store.closeView(view)
  return slots.length
}

/** What has come stays where it is for as long as no gap was longer than the index waits. */
class Gaps {
  /** From before a commit until after the next, or until after it was looked what is left. */
  longestMs = 0
  #sinceMs = performance.now()

  /**
   * @template T
   * @param {() => Promise<T>} work - a commit, or a look
   * @returns {Promise<T>}
   */
  async before(work) {
    const begunMs = performance.now()
    const result = await work()
    this.longestMs = Math.max(this.longestMs, performance.now() - this.#sinceMs)
    this.#sinceMs = begunMs
    return result
  }
}

test('mail that keeps coming is indexed together, but at once for a search that had to read it', async (t) => {
  const store = await temporaryStore(t)
  const gaps = new Gaps()
  await gaps.before(() => appendAll(store, 'INBOX', mails('first', 200)))
  const appendOne = async (/** @type {string} */ name) => {
    await gaps.before(() => appendAll(store, 'INBOX', mails(name, 1)))
    await sleep(100)
  }
  for (let number = 0; number < 30; number++) await appendOne(`more${number}`)
  const pending = await gaps.before(() => pendingCount(store))
  if (gaps.longestMs < QUIET_MS) assert.equal(pending, 230)

  assert.equal(await countFound(store, 'word-first-'), 200)
  let appended = 0
  const startedMs = performance.now()
  const isLate = () => performance.now() - startedMs >= MAX_DELAY_MS
  while ((await pendingCount(store)) >= 200 && !isLate()) await appendOne(`late${appended++}`)
  assert.ok(!isLate(), `${appended} messages came meanwhile`)
  assert.equal(await countFound(store, 'word-'), 230 + appended)
})

test('a user’s pauses of a second or two are no time to index a few messages, a long one is', async (t) => {
  const store = await temporaryStore(t)
  const gaps = new Gaps()
  await gaps.before(() => appendAll(store, 'INBOX', [mailOf(100_000)]))
  for (let number = 0; number < 3; number++) {
    await gaps.before(() => appendAll(store, 'INBOX', mails(`few${number}`, 2)))
    await sleep(1600)
  }
  const pending = await gaps.before(() => pendingCount(store))
  if (gaps.longestMs < LITTLE_QUIET_MS) assert.equal(pending, 7)
  while ((await pendingCount(store)) > 0) await sleep(100)
  assert.equal(await countFound(store, 'word-few'), 6)
})

test('a very large message is much: it is indexed before what another mailbox has a little of', async (t) => {
  const [large, little] = await Promise.all([temporaryStore(t), temporaryStore(t)])
  const gaps = new Gaps()
  await gaps.before(() => appendAll(little, 'INBOX', mails('few', 2)))
  await appendAll(large, 'INBOX', [mailOf(600_000)])
  while ((await pendingCount(large)) > 0) await sleep(50)
  const pending = await gaps.before(() => pendingCount(little))
  if (gaps.longestMs < LITTLE_QUIET_MS) assert.equal(pending, 2)
})

test('messages of very many words are indexed a few at a time where others have to wait for it', async (t) => {
  const store = await temporaryStore(t)
  const words = Array.from({ length: 40_000 }, (_, number) =>
    [...number.toString(26).padStart(4, '0')]
      .map((digit) => String.fromCharCode(97 + parseInt(digit, 26)))
      .join('')
  )
  const texts = [0, 1, 2, 3, 4].map((nth) => words.slice(nth * 8000, (nth + 1) * 8000).join(' '))
  await appendAll(
    store,
    'INBOX',
    texts.map((text) => ({ bytes: Buffer.from(`Subject: words\r\n\r\n${text}\r\n`) }))
  )
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  const segments = await segmentsOf(store)
  assert.deepEqual(
    segments.map(({ contentCount }) => contentCount),
    [2, 2, 1]
  )
  assert.equal(await countFound(store, /** @type {string} */ (words[39_999])), 1)
})

const MEBIBYTE = 1024 * 1024
const MUCH = /** @type {const} */ ({
  'so many messages': mails('first', 600),
  'messages of so many bytes': Array.from({ length: 9 }, (_, index) => mailOf(MEBIBYTE + index))
})
for (const [what, much] of Object.entries(MUCH)) {
  test(`${what} are indexed though more keep coming`, async (t) => {
    const store = await temporaryStore(t)
    await appendAll(store, 'INBOX', much)
    let appended = 0
    const startedMs = performance.now()
    const isLate = () => performance.now() - startedMs >= MAX_DELAY_MS
    while ((await pendingCount(store)) >= much.length && !isLate()) {
      await appendAll(store, 'INBOX', mails(`more${appended++}`, 1))
      await sleep(100)
    }
    assert.ok(!isLate(), `${appended} messages came meanwhile`)
  })
}

test('what another process has brought before it ended is indexed for a search that had to read it', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await store.indexSearch()
  // The looks that begin with the store come to their end: nothing has come for long.
  const { now } = performance
  let laterMs = 0
  t.mock.method(performance, 'now', () => now.call(performance) + laterMs)
  for (let look = 0; look < 2; look++) {
    laterMs += 2 * LITTLE_QUIET_MS
    await sleep(1500)
  }
  const other = await account.open()
  await appendAll(other, 'INBOX', mails('foreign', 200))
  await other.close()
  await store.pollOtherProcesses()
  assert.equal(await countFound(store, 'word-foreign-'), 200)
  while ((await pendingCount(store)) > 0) await sleep(50)
})

test('what another process was indexing when it ended is indexed a while later', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  // As a process that indexes this mailbox holds it.
  const lock = tryReserve(account.folder)
  assert.ok(lock)
  await appendAll(store, 'INBOX', mails('many', 40))
  await sleep(2500)
  assert.equal(await pendingCount(store), 40)
  lock.release()
  while ((await pendingCount(store)) > 0) await sleep(50)
})

test('while others wait for a turn, merging is left for later, and done when nobody waits', async (t) => {
  const stores = await Promise.all(Array.from({ length: 6 }, () => temporaryStore(t)))
  // Later has not come before it was looked what is left.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (let round = 0; round < 4; round++) {
    for (const store of stores) await appendAll(store, 'INBOX', mails(`round${round}`, 40))
    await Promise.all(stores.map((store) => store.indexSearch()))
  }
  const isMergeDue = async (/** @type {AccountStore} */ store) =>
    chooseMerge(await segmentsOf(store)).length > 0
  const due = await Promise.all(stores.map(isMergeDue))
  assert.ok(due.includes(true))
  t.mock.timers.runAll()
  t.mock.timers.reset()
  for (const store of stores) {
    assert.equal(await countFound(store, 'word-'), 160)
    while (await isMergeDue(store)) await sleep(50)
    assert.equal(await countFound(store, 'word-round2-'), 40)
    assert.deepEqual((await store.verify()).problems, [])
  }
})
