/** APPEND of so many messages that a thread writes their rows (RFC 3502: all or none). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, aliveUids, makeMessage, stage } from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { countTurns } from '../../helpers/turns.js'

const MESSAGES = 400
/** Larger than what is kept in memory until the transaction. */
const LARGE_BYTES = 400_000

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../../src/store/account-store.js').StoreOptions>} [options]
 */
async function setup(t, options) {
  const account = await accountFolder(t)
  let syncs = 0
  const store = await account.create({
    ...options,
    syncCalls: {
      syncFile: async () => {
        syncs++
      }
    }
  })
  const { view } = await store.openView('INBOX')
  /**
   * @param {string[]} texts
   * @param {(index: number) => string[]} [flagsOf]
   */
  const messages = async (texts, flagsOf = () => []) => {
    const staged = []
    for (const [index, text] of texts.entries()) {
      const content = await stage(store, makeMessage(text))
      staged.push({ content, flags: flagsOf(index), internalDate: null })
    }
    return staged
  }
  return { store, view, messages, syncCount: () => syncs }
}

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @returns {Promise<unknown>} contents in the file, complete or not
 */
const countContents = (store) =>
  store.searchAccess.database.readSettled((db) =>
    db.prepare('SELECT count(*) FROM contents').pluck().get()
  )

const TEXTS = Array.from({ length: MESSAGES }, (_, index) => `number ${index}`)

test('others have their turn while many are added, and one sync is for all', async (t) => {
  const { store, view, messages, syncCount } = await setup(t)
  const many = await messages(TEXTS)
  const before = syncCount()
  let turns = 0
  const countTurn = () => {
    if (syncCount() > before) return
    turns++
    setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const { uids } = await store.appendMessages('INBOX', many)
  assert.ok(turns >= MESSAGES / 50, `${turns} turns before all of it was committed`)
  assert.equal(syncCount() - before, 1)
  assert.deepEqual(aliveUids(view), uids)
  assert.deepEqual((await store.verify()).problems, [])
})

test('flags, keywords that are new, equal contents and large ones are as ever, and the order is kept', async (t) => {
  const { store, view, messages } = await setup(t)
  const large = 'x'.repeat(LARGE_BYTES)
  const texts = TEXTS.map((text, index) => (index % 4 === 0 ? 'the same' : text))
  texts[7] = texts[9] = large
  const many = await messages(texts, (index) => (index % 2 === 0 ? ['\\Seen', '$Even'] : []))
  const [last] = await messages(['the last one'])
  const results = await Promise.all([
    store.appendMessages('INBOX', many),
    store.appendMessages('INBOX', last === undefined ? [] : [last])
  ])
  const uids = results.flatMap((result) => result.uids)
  assert.deepEqual(
    uids,
    Array.from({ length: MESSAGES + 1 }, (_, index) => index + 1)
  )
  assert.deepEqual(aliveUids(view), uids)
  assert.ok(store.keywords.names.includes('$Even'))
  const { messageCount, unseenCount } = await store.mailboxStatus('INBOX')
  assert.deepEqual([messageCount, unseenCount], [MESSAGES + 1, MESSAGES / 2 + 1])
  const flags = [0, 1, 2].map((slot) =>
    store.keywords.flagNames(Number(view.flags[slot]), Number(view.keywords[slot]))
  )
  assert.deepEqual(flags, [['\\Seen', '$Even'], [], ['\\Seen', '$Even']])
  await store.upkeep.sweep()
  const { problems, contents } = await store.verify()
  assert.deepEqual([problems, contents], [[], new Set(texts).size + 1])
})

test('what is refused leaves nothing behind', async (t) => {
  const { store, view, messages } = await setup(t, { config: { quotaMessages: MESSAGES - 1 } })
  const many = await messages(TEXTS)
  await assert.rejects(store.appendMessages('INBOX', many), { code: 'OVER_QUOTA' })
  await assert.rejects(store.appendMessages('Nowhere', many), { code: 'MAILBOX_NOT_FOUND' })
  assert.deepEqual(aliveUids(view), [])
  await store.upkeep.sweep()
  assert.equal(await countContents(store), 0, 'nor anything that is swept in an hour only')
  assert.deepEqual((await store.verify()).problems, [])
})

test('what was staged so long ago that it was swept is refused at once, and nothing of it stays', async (t) => {
  const clock = new ManualClock()
  const { store, view, messages } = await setup(t, { clock })
  for (const count of [2, MESSAGES]) {
    const many = await messages(['x'.repeat(LARGE_BYTES), ...TEXTS.slice(1, count)])
    clock.advance(61 * 60 * 1000)
    await store.upkeep.sweep()
    await assert.rejects(store.appendMessages('INBOX', many), { code: 'LIMIT' })
  }
  assert.deepEqual(aliveUids(view), [])
  await store.upkeep.sweep()
  const { problems, contents } = await store.verify()
  assert.deepEqual([problems, contents], [[], 0])
})

test('others have their turn while many are given up, and nothing is left of them', async (t) => {
  const { store } = await setup(t)
  /** @type {import('../../../src/store/content-writer.js').ContentWriter[]} */
  const writers = []
  for (let nth = 0; nth < 3000; nth++) {
    const writer = await store.stageContent({ sizeHint: 100, keptBytes: 0 })
    await writer.write(makeMessage(`number ${nth}`))
    assert.notEqual((await writer.finish()).contentId, null)
    writers.push(writer)
  }
  const { turns } = await countTurns(() => store.abortStaged(writers))
  assert.ok(turns >= 5, `${turns} turns`)
  await store.upkeep.sweep()
  assert.equal(await countContents(store), 0)
})
