/**
 * What others do to the index while it is asked, or is about to be made, neither fails nor falsifies a search, and is no
 * damage.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tryReserve } from '../../../../src/database/lock.js'
import { askIndex } from '../../../../src/store/search/index-answers.js'
import { readIndexState, resetStep } from '../../../../src/store/search/index-rows.js'
import { readPending } from '../../../../src/store/search/pending-rows.js'
import { planSearch } from '../../../../src/store/search/plan.js'
import { readSegments } from '../../../../src/store/search/segment-rows.js'
import { accountFolder, appendOne, makeMessage } from '../../../helpers/account-folder.js'
import { appendAll } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {AccountStore} store
 * @param {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} key
 * @param {(breath: number) => Promise<void>} onBreath - called between two reads
 */
function ask(store, key, onBreath) {
  let breath = 0
  return askIndex(store.searchAccess.database, {
    plan: planSearch(key),
    maxRows: 1000,
    maxBlocks: 1000,
    maxIds: 1000,
    breathe: () => onBreath(++breath)
  })
}

for (const at of [1, 2, 3, 4])
  test(`a search that a merge overtakes at its breath ${at} asks again, and reports no damage`, async (t) => {
    /** @type {string[]} */
    const alerts = []
    const account = await accountFolder(t)
    const store = await account.create({ onAlert: ({ code }) => alerts.push(code) })
    for (const word of ['alpha', 'beta', 'gamma']) {
      await appendOne(store, 'INBOX', makeMessage(`needle ${word}`))
      await store.indexSearch()
    }
    const asked = await ask(store, { op: 'body', value: 'needle' }, async (breath) => {
      if (breath !== at) return
      // With the fourth segment they are merged, and the blocks of all four are deleted.
      await appendOne(store, 'INBOX', makeMessage('needle delta'))
      await store.indexSearch()
    })
    assert.deepEqual(alerts, [])
    assert.deepEqual([...(asked?.answers.possible ?? [])], [1, 2, 3, 4])
  })

for (const at of [1, 2, 3, 4, 5])
  test(`a search during which the index is emptied, behind its read ${at}, misses nothing`, async (t) => {
    const store = await (await accountFolder(t)).create()
    const words = ['alpha', 'beta', 'gamma']
    for (const word of words) await appendOne(store, 'INBOX', makeMessage(`needle ${word}`))
    await store.indexSearch()
    await store.searchAccess.indexer.close()
    const { database } = store.searchAccess
    let reads = 0
    const asked = await askIndex(
      {
        readSettled: async (work) => {
          const result = await database.readSettled(work)
          // As another process does: the version is afterwards what it was.
          if (++reads === at) await store.upkeep.emptyIndex()
          return result
        }
      },
      {
        plan: planSearch({ op: 'body', value: 'needle' }),
        ...{ maxRows: 1000, maxBlocks: 1000, maxIds: 1000 },
        breathe: async () => {}
      }
    )
    assert.ok(reads > at)
    assert.deepEqual([...(asked?.answers.possible ?? [])], [1, 2, 3])
  })

test('an index that another process has just made is not emptied by one that still takes it for an old one', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const other = (await account.open()).searchAccess.database
  for (let n = 0; n < 5; n++) await appendOne(store, 'INBOX', makeMessage(`needle ${n}`))
  // The other process looks: there is none …
  const before = await other.readSettled(readIndexState)
  await store.indexSearch()
  const made = await other.readSettled(readIndexState)
  assert.notEqual(before.textVersion, made.textVersion)
  const key = { op: /** @type {const} */ ('header'), field: 'subject', value: 'needle' }
  const asked = await ask(store, key, async (breath) => {
    // … and acts a moment later.
    if (breath === 2) while (await other.write(resetStep));
  })
  assert.deepEqual([...(asked?.answers.possible ?? [])], [1, 2, 3, 4, 5])
  assert.deepEqual(await other.readSettled(readIndexState), made)
})

test('indexing that is asked for three times at once is done one after the other', async (t) => {
  const account = await accountFolder(t)
  /** @type {string[]} */
  const alerts = []
  const store = await account.create({ onAlert: ({ code }) => alerts.push(code) })
  for (let round = 0; round < 4; round++) {
    for (let n = 0; n < 6; n++) await appendOne(store, 'INBOX', makeMessage(`word ${round} ${n}`))
    await Promise.all([store.indexSearch(), store.indexSearch(), store.indexSearch()])
  }
  assert.deepEqual(alerts, [])
  assert.equal(
    await store.searchAccess.database
      .readSettled(readIndexState)
      .then(({ indexedCount }) => indexedCount),
    24
  )
})

test('of two processes that index a mailbox at once, one does it alone, and the other one what is left', async (t) => {
  const account = await accountFolder(t)
  const here = await account.create()
  const there = await account.open()
  const countsOf = () =>
    here.searchAccess.database.readSettled((db) => ({
      pending: readPending(db, 0, 1000).length,
      segments: readSegments(db).reduce((sum, { contentCount }) => sum + contentCount, 0)
    }))
  let all = 0
  // The first are a thread's work, the others are not.
  for (const count of [400, 5]) {
    const mails = Array.from({ length: count }, () => ({ bytes: makeMessage(`word ${++all}`) }))
    const lock = tryReserve(account.folder)
    await appendAll(here, 'INBOX', mails)
    for (const store of [here, there]) await assert.rejects(store.indexSearch(), { code: 'BUSY' })
    lock?.release()
    await Promise.allSettled([here.indexSearch(), there.indexSearch()])
    assert.deepEqual(await countsOf(), { pending: 0, segments: all })
  }
  assert.deepEqual((await here.verify()).problems, [])
})

test('what another process has indexed since it was looked what waits is not indexed once more', async (t) => {
  const account = await accountFolder(t)
  const here = await account.create()
  const there = await account.open()
  for (let n = 0; n < 5; n++) await appendOne(here, 'INBOX', makeMessage(`word ${n}`))
  const { database } = here.searchAccess
  const read = database.readSettled.bind(database)
  let reads = 0
  t.mock.method(database, 'readSettled', async (/** @type {(db: any) => any} */ work) => {
    const result = await read(work)
    if (++reads === 1) await there.indexSearch()
    return result
  })
  await here.indexSearch()
  const segments = await read(readSegments)
  assert.deepEqual(
    segments.map(({ contentCount }) => contentCount),
    [5]
  )
})
