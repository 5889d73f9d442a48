/**
 * How contents go that no message needs any more.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { BACKGROUND_NICENESS } from '../../../src/support/step-back.js'
import { isMuchGarbage } from '../../../src/store/garbage.js'
import {
  accountFolder,
  appendMany,
  appendOne,
  collect,
  makeMessage,
  rawHandle,
  readBytes,
  stage,
  sweepAll
} from '../../helpers/account-folder.js'

/**
 * @param {number} sizeBytes
 * @returns {Buffer} that does not compress
 */
const noise = (sizeBytes) => randomBytes(sizeBytes)

test('a message that comes again while its content is being swept is stored again, whole', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const bytes = noise(9_000_000)
  let uid = await appendOne(store, 'INBOX', bytes, ['\\Deleted'])
  for (let turns = 0; turns < 12; turns++) {
    const content = await stage(store, bytes)
    const [old] = await store.readMessages(view.mailboxId, [uid], {})
    await store.expunge({ view, uids: null })
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    const message = { content, flags: ['\\Deleted'], internalDate: null }
    const { uids } = await store.appendMessages('INBOX', [message])
    uid = uids[0] ?? 0
    // Who still reads the old one gets it whole, or is told that it is gone.
    const rest = await collect(store.readContent(old?.contentId ?? 0)).catch((error) => error.code)
    assert.ok(rest === 'MESSAGE_GONE' || bytes.equals(rest))
    await sweepAll(store)
    assert.ok(bytes.equals(await readBytes(store, view, uid)), `after ${turns} turns`)
  }
  assert.deepEqual((await store.verify()).problems, [])
})

test('the sweep deletes large contents in slices, and what a copy still needs stays', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  for (let i = 0; i < 4; i++)
    await appendOne(store, 'INBOX', makeMessage(`${i}`, 3_000_000), ['\\Deleted'])
  await store.copyMessages({ from: view, uids: [3], toMailbox: 'Archive' })
  await store.expunge({ view, uids: null })
  await sweepAll(store)
  const report = await store.verify()
  assert.deepEqual([report.problems, report.contents], [[], 1])
  // So that what is computed from the messages does not wait for company any more.
  await store.close()
  const db = rawHandle(account)
  t.after(() => db.close())
  const count = (/** @type {string} */ table) =>
    db.prepare(`SELECT count(*) AS n FROM ${table}`).get()
  assert.deepEqual(count('garbage_contents'), { n: 0 })
  assert.deepEqual(count('message_meta'), { n: 1 })
})

/** @returns {Map<string, number>} niceness of each thread of this process, by its id */
function niceness() {
  const threads = new Map()
  for (const id of readdirSync('/proc/self/task')) {
    try {
      const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1')
      threads.set(id, Number(stat.replace(/^.*\) /, '').split(' ')[16]))
    } catch {
      // It has ended since.
    }
  }
  return threads
}

test(
  'a thread that indexes or sweeps leaves the processors to what clients wait for',
  { skip: process.platform !== 'linux' && 'niceness of a thread is Linux’s' },
  async (t) => {
    const account = await accountFolder(t)
    const store = await account.create()
    const { view } = await store.openView('INBOX')
    for (let i = 0; i < 3; i++)
      await appendOne(store, 'INBOX', makeMessage(`${i}`, 3_000_000), ['\\Deleted'])
    const own = getPriority()
    for (const work of [() => store.indexSearch(), () => sweepAll(store)]) {
      const running = { isOver: false, seen: new Set(), main: new Set() }
      const done = work().finally(() => (running.isOver = true))
      while (!running.isOver) {
        for (const [id, nice] of niceness()) {
          running.seen.add(nice)
          if (id === String(process.pid)) running.main.add(nice)
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
      await done
      assert.deepEqual([...running.main], [own])
      assert.deepEqual(
        [...running.seen].sort((a, b) => a - b),
        [own, BACKGROUND_NICENESS]
      )
      await store.expunge({ view, uids: null })
    }
    await store.close()
  }
)

/**
 * @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore
 * @type {{ title: string, isMuch: boolean, discard: (store: AccountStore) => Promise<unknown> }[]}
 */
const DISCARDED = [
  { title: 'nothing', isMuch: false, discard: async () => {} },
  {
    title: 'three small messages',
    isMuch: false,
    async discard(store) {
      for (const text of ['1', '2', '3'])
        await appendOne(store, 'INBOX', makeMessage(text), ['\\Deleted'])
    }
  },
  {
    title: 'nine megabytes',
    isMuch: true,
    async discard(store) {
      for (const text of ['1', '2', '3'])
        await appendOne(store, 'INBOX', makeMessage(text, 3_000_000), ['\\Deleted'])
    }
  },
  {
    title: 'a mailbox of 200 messages',
    isMuch: false,
    discard: async (store) => {
      await appendMany(store, 'Trash', 200)
      await store.deleteMailbox('Trash')
    }
  },
  {
    title: 'two of 101',
    isMuch: true,
    discard: async (store) => {
      for (const name of ['Trash', 'Junk']) {
        await appendMany(store, name, 101)
        await store.deleteMailbox(name)
      }
    }
  }
]

for (const { title, isMuch, discard } of DISCARDED)
  test(`to sweep ${title} away is ${isMuch ? 'a thread’s work' : 'little'}`, async (t) => {
    const account = await accountFolder(t)
    // It would begin by itself.
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const store = await account.create()
    const { view } = await store.openView('INBOX')
    await discard(store)
    await store.expunge({ view, uids: null })
    assert.equal(
      await store.searchAccess.database.readSettled((db) =>
        isMuchGarbage(db, Date.now() + 3_600_000)
      ),
      isMuch
    )
    await sweepAll(store)
    assert.ok(!(await store.upkeep.hasGarbage()))
    assert.deepEqual((await store.verify()).problems, [])
    await store.close()
  })

test('when many mailboxes are emptied at once, each is swept in its turn, and closing one does not wait for it', async (t) => {
  const stores = []
  for (let i = 0; i < 6; i++) {
    const store = await (await accountFolder(t)).create()
    for (let n = 0; n < 3; n++) await appendOne(store, 'Trash', makeMessage(`${n}`, 3_000_000))
    await store.deleteMailbox('Trash')
    stores.push(store)
  }
  const [first, ...others] = stores
  const sweeps = others.map((store) => sweepAll(store))
  const last = /** @type {AccountStore} */ (others.at(-1))
  await last.close()
  await first?.close()
  assert.deepEqual(
    (await Promise.allSettled(sweeps)).slice(0, -1).map(({ status }) => status),
    Array(4).fill('fulfilled')
  )
  for (const store of others.slice(0, -1)) {
    assert.ok(!(await store.upkeep.hasGarbage()))
    await store.close()
  }
})
