/**
 * The order in which a change becomes durable, visible and acknowledged.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fdatasync, fsync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'node:test'
import {
  accountFolder,
  appendMany,
  appendOne,
  makeMessage,
  stage
} from '../../helpers/account-folder.js'

const realSync = promisify(fdatasync)

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  /** @type {string[]} */
  const events = []
  const state = { fails: false, delayMs: 0 }
  /** @type {import('../../../src/store/account-database.js').Alert[]} */
  const alerts = []
  const store = await account.create({
    onAlert: (alert) => alerts.push(alert),
    syncCalls: {
      syncFile: async (descriptor) => {
        if (state.fails) throw Object.assign(new Error('no'), { code: 'EIO' })
        await realSync(descriptor)
        if (state.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, state.delayMs))
        events.push('synced')
      },
      syncFolder: promisify(fsync)
    }
  })
  const { view } = await store.openView('INBOX')
  await appendMany(store, 'INBOX', 4, ['\\Deleted'])
  view.attach(() => events.push('told'))
  events.length = 0
  return { ...account, store, view, events, state, alerts }
}

/**
 * @typedef {Awaited<ReturnType<typeof setup>>} Setup
 * @typedef {(setup: Setup) => Promise<unknown>} Change
 */

// Where a view is concerned it must be told after the sync; what concerns no view is synced only.
const changes = /** @type {[string, string[], Change][]} */ ([
  ['an append', ['synced', 'told'], ({ store }) => appendOne(store, 'INBOX', makeMessage('new'))],
  [
    'a flag change',
    ['synced', 'told'],
    ({ store, view }) => store.changeFlags({ view, uids: [1], action: 'add', flags: ['\\Seen'] })
  ],
  [
    'a copy',
    ['synced', 'told'],
    ({ store, view }) => store.copyMessages({ from: view, uids: [1], toMailbox: 'INBOX' })
  ],
  [
    'a move',
    ['synced', 'told'],
    ({ store, view }) => store.moveMessages({ from: view, uids: [1], toMailbox: 'Sent' })
  ],
  ['an expunge', ['synced', 'told'], ({ store, view }) => store.expunge({ view, uids: [1] })],
  ['making a mailbox', ['synced'], ({ store }) => store.createMailbox('New')],
  ['renaming a mailbox', ['synced'], ({ store }) => store.renameMailbox('Sent', 'New')],
  ['deleting a mailbox', ['synced'], ({ store }) => store.deleteMailbox('Sent')],
  ['subscribing', ['synced'], ({ store }) => store.setSubscribed('New', true)]
])

for (const [what, expected, change] of changes) {
  test(`${what} is synced before anybody is told and before it is acknowledged`, async (t) => {
    const all = await setup(t)
    await change(all)
    assert.deepEqual(all.events.slice(0, expected.length), expected)
  })
}

const noChanges = /** @type {[string, Change][]} */ ([
  [
    'an expunge of messages without \\Deleted',
    async ({ store, view }) => assert.deepEqual(await store.expunge({ view, uids: [5, 99] }), [])
  ],
  ['subscribing to what is subscribed', ({ store }) => store.setSubscribed('Sent', true)],
  ['unsubscribing from what is not', ({ store }) => store.setSubscribed('New', false)]
])

for (const [what, change] of noChanges) {
  test(`${what} writes nothing: nobody is told, and no disk is waited for`, async (t) => {
    const all = await setup(t)
    await appendOne(all.store, 'INBOX', makeMessage('kept'))
    all.events.length = 0
    await change(all)
    assert.deepEqual(all.events, [])
  })
}

test('a lazy flag change is acknowledged first, and told after the sync all the same', async (t) => {
  const { store, view, events, state } = await setup(t)
  state.delayMs = 20
  await store.changeFlags({ view, uids: [1], action: 'add', flags: ['\\Seen'], isLazy: true })
  assert.deepEqual(events, [])
  await store.sync()
  assert.deepEqual(events.slice(0, 2), ['synced', 'told'])
})

test('what another request has committed is not shown before it is durable', async (t) => {
  const { store, events, state } = await setup(t)
  state.delayMs = 20
  const appending = appendOne(store, 'INBOX', makeMessage('slow'))
  while ((await store.usage()).messages === 4) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(events.includes('synced'))
  const { uidNext } = await store.mailboxStatus('INBOX')
  assert.equal(uidNext, (await appending) + 1)
})

test('nor is it to whoever reads in the same moment', async (t) => {
  const { store, events } = await setup(t)
  await store.listMailboxes()
  events.length = 0
  const making = store.createMailbox('New')
  const names = (await store.listMailboxes()).map(({ name }) => name)
  assert.ok(names.includes('New'))
  assert.ok(events.includes('synced'), 'it is on the disk')
  await making
})

for (const [what, remove] of /** @type {[string, (path: string) => void][]} */ ([
  ['the file', (path) => rmSync(path)],
  ['the log', (path) => rmSync(`${path}-wal`)],
  ['the folder', (path) => rmSync(dirname(path), { recursive: true })],
  [
    'the file for another one',
    (path) => {
      copyFileSync(path, `${path}.new`)
      renameSync(`${path}.new`, path)
    }
  ],
  [
    'the log for another one',
    (path) => {
      copyFileSync(`${path}-wal`, `${path}.new`)
      renameSync(`${path}.new`, `${path}-wal`)
    }
  ],
  [
    'the folder for a copy',
    (path) => {
      cpSync(dirname(path), `${dirname(path)}.new`, { recursive: true })
      renameSync(dirname(path), `${dirname(path)}.old`)
      renameSync(`${dirname(path)}.new`, dirname(path))
    }
  ]
]))
  test(`where somebody has removed ${what}, nothing is acknowledged that would be gone with it`, async (t) => {
    const { store, folder, alerts } = await setup(t)
    const { view } = await store.openView('INBOX')
    const change = { view, uids: [1], flags: ['\\Flagged'] }
    // After many that were in order, too.
    for (let times = 0; times < 20; times++) {
      await store.changeFlags({ ...change, action: 'add' })
      await store.changeFlags({ ...change, action: 'remove' })
    }
    remove(join(folder, 'mail.db'))
    await assert.rejects(appendOne(store, 'INBOX', makeMessage('lost')), { code: 'NOT_DURABLE' })
    assert.deepEqual(
      alerts.map(({ code, detail }) => [code, detail]),
      [['NOT_DURABLE', 'ENOENT']]
    )
  })

test('commits that arrive together share their syncs', async (t) => {
  const { store, events } = await setup(t)
  const messages = await Promise.all(
    Array.from({ length: 50 }, (_, i) => stage(store, makeMessage(`${i}`)))
  )
  await Promise.all(
    messages.map((content) =>
      store.appendMessages('Sent', [{ content, flags: [], internalDate: null }])
    )
  )
  const syncs = events.filter((event) => event === 'synced').length
  assert.ok(syncs < 25, `${syncs} syncs for 50 commits`)
})

test('for what another connection has committed nobody waits who is told nothing of it', async (t) => {
  const { store, events, open } = await setup(t)
  const other = await open()
  await store.pollOtherProcesses()
  events.length = 0
  await other.indexSearch()
  await other.createMailbox('Elsewhere')
  await store.pollOtherProcesses()
  assert.deepEqual(events, [])
  await appendOne(other, 'INBOX', makeMessage('news'))
  await store.pollOtherProcesses()
  assert.deepEqual([...new Set(events)], ['synced', 'told'])
  events.length = 0
  const { view } = await other.openView('INBOX')
  const keyword = { uids: [5], action: /** @type {const} */ ('add'), flags: ['$New'] }
  await other.changeFlags({ view, ...keyword })
  await store.pollOtherProcesses()
  assert.equal(events[0], 'synced')
  await other.close()
})

test('a failed sync acknowledges nothing, tells nobody, alerts and closes; reopening recovers', async (t) => {
  const { store, view, events, state, alerts, open } = await setup(t)
  state.fails = true
  await assert.rejects(appendOne(store, 'INBOX', makeMessage('lost?')), { code: 'NOT_DURABLE' })
  state.fails = false
  assert.deepEqual(events, [])
  assert.equal(view.length, 4)
  await assert.rejects(store.listMailboxes(), { code: 'NOT_DURABLE' })
  await store.close()
  assert.deepEqual(alerts, [{ code: 'NOT_DURABLE', detail: 'EIO' }])
  const again = await open()
  const { messageCount } = await again.mailboxStatus('INBOX')
  assert.ok(messageCount === 4 || messageCount === 5)
  assert.ok((await appendOne(again, 'INBOX', makeMessage('next'))) > messageCount)
})

test('after closing, every call answers SHUTTING_DOWN and the key is gone', async (t) => {
  const { store } = await setup(t)
  await Promise.all([store.close(), store.close()])
  await assert.rejects(store.listMailboxes(), { code: 'SHUTTING_DOWN' })
  await assert.rejects(store.createMailbox('x'), { code: 'SHUTTING_DOWN' })
})

const hasStrace = spawnSync('strace', ['-V']).status === 0
const needsStrace = { skip: !hasStrace && 'strace is not on this machine' }

/**
 * @param {import('node:test').TestContext} t
 * @param {string} helper - a module of the helpers, whose first argument is an account's folder
 * @param {string} count - its second
 * @returns {string[]} the calls that it made, a line each, with the thread at its beginning
 */
function traced(t, helper, count) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const trace = join(folder, 'trace')
  const child = fileURLToPath(new URL(`../../helpers/${helper}`, import.meta.url))
  execFileSync('strace', [
    ...['-f', '-y', '-e', 'trace=pwrite64,write,fdatasync,fsync', '-o', trace],
    ...[process.execPath, child, join(folder, 'account'), count]
  ])
  return readFileSync(trace, 'latin1').split('\n')
}

test(
  'the system calls: after the last write to the -wal comes an fdatasync of it, then the answer',
  needsStrace,
  (t) => {
    /** @type {string[]} */
    const events = []
    for (const line of traced(t, 'append-loop.js', '5')) {
      const isWal = line.includes('/mail.db-wal>')
      if (isWal && line.includes('pwrite64(')) events.push('write')
      // With -f a call may be cut in two by another thread: it counts when it is over.
      else if (/fdatasync resumed/.test(line) || (isWal && /fdatasync\(.*= 0/.test(line)))
        events.push('sync')
      else if (/write\(1<.*"ack /.test(line)) events.push('ack')
    }
    const acks = events.flatMap((event, index) => (event === 'ack' ? [index] : []))
    assert.equal(acks.length, 5)
    for (const index of acks) {
      const before = events.slice(0, index)
      assert.ok(before.lastIndexOf('sync') > before.lastIndexOf('write'), events.join(' '))
    }
  }
)

test(
  'the system calls: a thread that sweeps puts each slice on the disk before the next, so that nobody waits for many',
  needsStrace,
  (t) => {
    /** @type {Map<string, { runs: number[], unsynced: number }>} bytes written between two syncs, by thread */
    const threads = new Map()
    for (const line of traced(t, 'sweep-much.js', '40')) {
      const id = line.slice(0, line.indexOf(' '))
      const isWal = line.includes('/mail.db-wal>')
      const thread = threads.get(id) ?? { runs: [], unsynced: 0 }
      threads.set(id, thread)
      if (isWal && line.includes('pwrite64('))
        thread.unsynced += Number(/, (\d+), \d+(?:\) |\s*<)/.exec(line)?.[1])
      else if (isWal && line.includes('fdatasync(')) {
        if (thread.unsynced > 0) thread.runs.push(thread.unsynced)
        thread.unsynced = 0
      }
    }
    // The event loop's syncs are made in a pool. On a slow machine the indexer's thread writes and syncs as well, and is
    // ended amid that: the one that sweeps has done most.
    const [sweeping] = [...threads.values()].sort((a, b) => b.runs.length - a.runs.length)
    const runs = sweeping?.runs ?? []
    assert.ok(runs.length >= 5, `${runs.length} slices`)
    assert.ok(Math.max(...runs) < 6 * 1024 * 1024, runs.join(' '))
    assert.equal(sweeping?.unsynced, 0)
  }
)
