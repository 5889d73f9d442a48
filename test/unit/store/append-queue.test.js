import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, aliveUids, makeMessage, stage } from '../../helpers/account-folder.js'

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
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
  })
  const { view } = await store.openView('INBOX')
  /**
   * @param {string} text
   * @param {{ mailbox?: string, flags?: string[] }} [options]
   */
  const message = async (text, { mailbox = 'INBOX', flags = [] } = {}) => {
    const content = await stage(store, makeMessage(text))
    return () => store.appendMessages(mailbox, [{ content, flags, internalDate: null }])
  }
  return { ...account, store, view, message, syncCount: () => syncs }
}

test('appends that are asked for at once share a sync, 32 at most, and keep their order', async (t) => {
  const { store, view, message, syncCount } = await setup(t)
  const appends = []
  for (let i = 0; i < 40; i++) appends.push(await message(`${i}`))
  const before = syncCount()
  /** @type {number[]} */
  const told = []
  const results = await Promise.all(
    appends.map(async (append, index) => {
      const { uids } = await append()
      told.push(index)
      return uids[0]
    })
  )
  const order = Array.from({ length: 40 }, (_, index) => index)
  assert.deepEqual(
    results,
    order.map((index) => index + 1)
  )
  assert.deepEqual(told, order)
  // As many as go together, then the rest.
  assert.equal(syncCount() - before, 2)
  assert.deepEqual(aliveUids(view), results)
  assert.deepEqual((await store.verify()).problems, [])
})

test('one that is refused leaves nothing, and takes none of the others with it', async (t) => {
  const { store, view, message } = await setup(t, { config: { quotaMessages: 4 } })
  const names = ['INBOX', 'INBOX', 'nowhere', 'INBOX', 'INBOX', 'INBOX', 'Archive']
  const appends = []
  for (const [index, mailbox] of names.entries())
    appends.push(await message(`${index}`, { mailbox, flags: [`$keyword${index}`] }))
  const outcomes = await Promise.allSettled(appends.map((append) => append()))
  assert.deepEqual(
    outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value.uids : outcome.reason.code
    ),
    [[1], [2], 'MAILBOX_NOT_FOUND', [3], [4], 'OVER_QUOTA', 'OVER_QUOTA']
  )
  assert.deepEqual(aliveUids(view), [1, 2, 3, 4])
  const flags = [...view.uids.subarray(0, view.length)].map((_, slot) =>
    store.keywords.flagNames(Number(view.flags[slot]), Number(view.keywords[slot]))
  )
  assert.deepEqual(flags, [['$keyword0'], ['$keyword1'], ['$keyword3'], ['$keyword4']])
  assert.deepEqual(
    store.keywords.names.filter((name) => name.startsWith('$keyword')),
    ['$keyword0', '$keyword1', '$keyword3', '$keyword4']
  )
  assert.deepEqual((await store.verify()).problems, [])
})

test('the same message twice among those that go together is stored once', async (t) => {
  const { store, message } = await setup(t)
  const appends = [await message('first'), await message('same'), await message('same')]
  await Promise.all(appends.map((append) => append()))
  const report = await store.verify()
  assert.deepEqual([report.problems, report.messages, report.contents], [[], 3, 2])
})

test('a request of many messages has a transaction for itself, all or none', async (t) => {
  const { store, view, message } = await setup(t, { config: { quotaMessages: 101 } })
  const messages = []
  for (let i = 0; i < 100; i++)
    messages.push({
      content: await stage(store, makeMessage(`m${i}`)),
      flags: [],
      internalDate: null
    })
  const single = await message('single')
  const last = await message('last')
  const outcomes = await Promise.allSettled([
    single(),
    store.appendMessages('INBOX', messages),
    last()
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected']
  )
  assert.equal(aliveUids(view).length, 101)
})
