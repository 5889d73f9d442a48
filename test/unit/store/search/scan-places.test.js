/**
 * Threads for long searches are a few for all mailboxes: whoever has none takes the place of one that has nothing to do,
 * or waits until another's search is over or has had its turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ScanPlaces } from '../../../../src/store/search/scan-places.js'
import { accountFolder, appendOne, makeMessage } from '../../../helpers/account-folder.js'
import { searcher } from '../../../helpers/index-oracle.js'
import { searchKey } from '../../../helpers/search-key.js'

/** So many different keys are a thread's work. */
const LONG = searchKey(
  ['BODY needle', ...Array.from({ length: 40 }, (_, number) => `NOT BODY none${number}`)].join(' ')
)

/** Seconds of work, of which nobody waits for the end. */
const ENDLESS = searchKey(
  Array.from({ length: 3000 }, (_, number) => `NOT BODY none${number}`).join(' ')
)

/**
 * @param {import('node:test').TestContext} t
 * @param {ScanPlaces} scanPlaces
 * @param {number} [messages]
 * @param {number} [sizeBytes] - of each
 */
async function mailbox(t, scanPlaces, messages = 2, sizeBytes = 0) {
  const store = await (await accountFolder(t)).create({ scanPlaces })
  for (let number = 0; number < messages; number++)
    await appendOne(
      store,
      'INBOX',
      makeMessage(number === 1 ? 'needle' : `hay ${number}`, sizeBytes)
    )
  return { store, ...(await searcher(store, 'INBOX')) }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {ScanPlaces} scanPlaces
 */
const busyMailbox = (t, scanPlaces) => mailbox(t, scanPlaces, 30, 200_000)

/** Not over before a test is, however slow the machine. */
const LONG_TURN_MS = 3_600_000

/** @param {() => boolean} isSo */
async function until(isSo) {
  while (!isSo()) await setImmediate()
}

/** Until several searches that were begun one after the other have come to the same point. */
async function someTurns() {
  for (let turn = 0; turn < 50; turn++) await setImmediate()
}

test('each has a thread while there are places, and then that of whoever has not searched for longest', async (t) => {
  const places = new ScanPlaces({ threads: 2 })
  const boxes = await Promise.all([1, 2, 3].map(() => mailbox(t, places)))
  for (const round of [1, 2]) {
    for (const { find } of boxes) {
      assert.deepEqual(await find(LONG), [2], `round ${round}`)
      assert.ok(places.threads <= 2)
    }
  }
  assert.equal(places.threads, 2)
  for (const { store } of boxes) await store.close()
  await until(() => places.threads === 0)
})

test('a thread at work is not taken away before its turn is over, and several searches of one mailbox have one', async (t) => {
  const places = new ScanPlaces({ threads: 1, turnMs: LONG_TURN_MS })
  const [busy, other] = [await busyMailbox(t, places), await mailbox(t, places)]
  const abort = new AbortController()
  const endless = busy.find(ENDLESS, abort.signal)
  await until(() => places.threads === 1)
  const answers = [other.find(LONG), other.find(LONG)]
  await until(() => places.waiting === 1)
  await someTurns()
  assert.deepEqual([places.threads, places.waiting], [1, 1])
  abort.abort(new Error('the client has gone'))
  await assert.rejects(endless, /the client has gone/)
  assert.deepEqual(await Promise.all(answers), [[2], [2]])
  assert.deepEqual([places.threads, places.waiting], [1, 0])
})

test('whoever goes while it waits leaves its place, and nobody else’s', async (t) => {
  const places = new ScanPlaces({ threads: 1, turnMs: LONG_TURN_MS })
  const [busy, other] = [await busyMailbox(t, places), await mailbox(t, places)]
  const [abort, first, second] = [1, 2, 3].map(() => new AbortController())
  const endless = busy.find(ENDLESS, abort?.signal)
  await until(() => places.threads === 1)
  const waiting = [other.find(LONG, first?.signal), other.find(LONG, second?.signal)]
  await until(() => places.waiting === 1)
  await someTurns()
  first?.abort(new Error('first gone'))
  await assert.rejects(/** @type {Promise<unknown>} */ (waiting[0]), /first gone/)
  assert.equal(places.waiting, 1)
  second?.abort(new Error('second gone'))
  await assert.rejects(/** @type {Promise<unknown>} */ (waiting[1]), /second gone/)
  assert.equal(places.waiting, 0)
  const again = other.find(LONG)
  await until(() => places.waiting === 1)
  abort?.abort(new Error('the client has gone'))
  await assert.rejects(endless, /the client has gone/)
  assert.deepEqual(await again, [2])
})

test('a mailbox that is closed waits no longer, and frees its place', async (t) => {
  const places = new ScanPlaces({ threads: 1, turnMs: LONG_TURN_MS })
  const [busy, other] = [await busyMailbox(t, places), await mailbox(t, places)]
  const endless = busy.find(ENDLESS)
  await until(() => places.threads === 1)
  const waiting = other.find(LONG)
  await until(() => places.waiting === 1)
  const closed = other.store.close()
  await assert.rejects(waiting, { code: 'SHUTTING_DOWN' })
  await closed
  assert.equal(places.waiting, 0)
  await Promise.all([assert.rejects(endless, { code: 'SHUTTING_DOWN' }), busy.store.close()])
  await until(() => places.threads === 0)
})

/** Knows how many threads there have been. */
class CountingPlaces extends ScanPlaces {
  begun = 0

  /**
   * @override
   * @type {ScanPlaces['take']}
   */
  take(live, signal) {
    return super.take(() => {
      this.begun++
      return live()
    }, signal)
  }
}

test('the header of a long message that is not indexed yet is looked at without a thread', async (t) => {
  const places = new CountingPlaces({ threads: 1 })
  const { find } = await mailbox(t, places, 2, 200_000)
  assert.deepEqual(await find(searchKey('SUBJECT needle')), [2])
  assert.equal(places.begun, 0)
})

test('of a small mailbox that is indexed, too, no message is looked at where the index is certain', async (t) => {
  const { store, find } = await mailbox(t, new ScanPlaces({ threads: 1 }), 60)
  await store.indexSearch()
  const { database } = store.searchAccess
  await database.write((db) => db.exec('DELETE FROM content_chunks; DELETE FROM message_fields'))
  assert.deepEqual(await find(searchKey('BODY needle')), [2])
  assert.deepEqual(await find(searchKey('SUBJECT needle')), [2])
})

test('a search that has had its turn goes on behind those that wait, and finds the same', async (t) => {
  const places = new CountingPlaces({ threads: 1, turnMs: 0 })
  // Large, so that looking at them takes longer than beginning.
  const filled = (/** @type {ScanPlaces} */ scanPlaces) =>
    Promise.all([12, 9, 6].map((messages) => mailbox(t, scanPlaces, messages, 1_000_000)))
  const boxes = await filled(places)
  const keys = searchKey(
    [
      'OR BODY hay BODY needle',
      ...Array.from({ length: 40 }, (_, n) => `NOT BODY "hay 1${n}"`)
    ].join(' ')
  )
  const alone = await filled(new ScanPlaces({ threads: 1 }))
  const expected = await Promise.all(alone.map(({ find }) => find(keys)))
  const found = await Promise.all(boxes.map(({ find }) => find(keys)))
  assert.deepEqual(found, expected)
  assert.ok(places.begun > boxes.length, 'in turns')
})

test('searches without an end do not keep others waiting', async (t) => {
  const places = new ScanPlaces({ threads: 2, turnMs: 100 })
  const endless = await Promise.all([1, 2, 3].map(() => mailbox(t, places, 100, 200_000)))
  const other = await mailbox(t, places)
  const abort = new AbortController()
  let isOneOver = false
  const searches = Promise.allSettled(
    endless.map(async ({ find }) => {
      await find(ENDLESS, abort.signal)
      isOneOver = true
    })
  )
  await until(() => places.threads === 2 && places.waiting === 1)
  assert.deepEqual(await other.find(LONG), [2])
  assert.equal(isOneOver, false)
  abort.abort(new Error('the client has gone'))
  for (const search of await searches) assert.equal(search.status, 'rejected')
  assert.equal(places.waiting, 0)
})
