import assert from 'node:assert/strict'
import { fstatSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WalSync, syncLog } from '../../../src/database/durability.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { runWithFewDescriptors } from '../../helpers/few-descriptors.js'
import { openDescriptors } from '../../helpers/open-descriptors.js'

const url = (/** @type {string} */ path) => new URL(`../../../${path}`, import.meta.url).href

/**
 * @param {import('node:test').TestContext} t
 */
async function setup(t) {
  const folder = await scratchFolder(t)
  const databasePath = join(folder, 'a.db')
  const walPath = `${databasePath}-wal`
  writeFileSync(walPath, 'frames')
  /** @type {string[]} */
  const events = []
  /** @type {(() => void)[]} */
  const gates = []
  const state = { fails: false, isGated: false }
  const sync = new WalSync({
    databasePath,
    onFailure: (error) => events.push(`failed ${error.code}`),
    calls: {
      syncFile: async (descriptor) => {
        events.push(`file ${fstatSync(descriptor).ino}`)
        if (state.isGated) await new Promise((resolve) => gates.push(() => resolve(undefined)))
        if (state.fails) throw Object.assign(new Error(), { code: 'EIO' })
      },
      syncFolder: async (descriptor) => {
        assert.equal(fstatSync(descriptor).ino, statSync(folder).ino)
        events.push('folder')
      }
    }
  })
  t.after(() => {
    for (const open of gates) open()
    return sync.close()
  })
  const inode = () => `file ${statSync(walPath).ino}`
  return { folder, walPath, sync, events, gates, state, inode }
}

/** @param {(() => void)[]} gates */
async function untilGated(gates) {
  while (gates.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
}

test('the folder is synced once for a new -wal, the file each time', async (t) => {
  const { sync, events, inode } = await setup(t)
  await sync.sync()
  await sync.sync()
  assert.deepEqual(events, ['folder', inode(), inode()])
})

test('commits that arrive while a sync runs share the next one, and are told in their order', async (t) => {
  const { sync, events, gates, state, inode } = await setup(t)
  state.isGated = true
  const told = ['a', 'b', 'c', 'd'].map((name) => {
    const done = sync.sync(() => events.push(`told ${name}`))
    return done.then(() => events.push(`resolved ${name}`))
  })
  await untilGated(gates)
  assert.deepEqual(events, ['folder', inode()])
  state.isGated = false
  gates[0]?.()
  await Promise.all(told)
  const file = inode()
  assert.deepEqual(
    events.filter((event) => !event.startsWith('resolved')),
    ['folder', file, 'told a', file, 'told b', 'told c', 'told d']
  )
  for (const name of 'abcd')
    assert.ok(events.indexOf(`told ${name}`) < events.indexOf(`resolved ${name}`))
})

test('nobody is told before the disk has answered, the first time or later', async (t) => {
  const { sync, events, gates, state } = await setup(t)
  state.isGated = true
  for (const told of ['told a', 'told b']) {
    const done = sync.sync(() => events.push(told))
    await untilGated(gates)
    // What does not wait for the disk is through after a turn or two.
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(!events.includes(told))
    gates.pop()?.()
    await done
    assert.ok(events.includes(told))
  }
})

test('what goes wrong where one is told is heard of by whoever waits for that, and by nobody else', async (t) => {
  const { sync, events } = await setup(t)
  const fault = new Error('a fault of the program')
  const outcomes = await Promise.allSettled([
    sync.sync(() => {
      throw fault
    }),
    sync.sync(() => events.push('told')),
    sync.sync()
  ])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : outcome.status)),
    [fault, 'fulfilled', 'fulfilled']
  )
  assert.ok(events.includes('told'))
})

test('once the file was let go, the next sync opens it again', async (t) => {
  const { sync, events, inode } = await setup(t)
  await sync.sync()
  await sync.letGo()
  await sync.sync()
  assert.deepEqual(events, ['folder', inode(), 'folder', inode()])
})

test('a -wal that was deleted and made again is followed, and its folder synced', async (t) => {
  const { sync, events, walPath, inode } = await setup(t)
  await sync.sync()
  const first = inode()
  writeFileSync(`${walPath}.new`, 'other frames')
  unlinkSync(walPath)
  renameSync(`${walPath}.new`, walPath)
  await sync.sync()
  // That the one it has open is gone is seen while that is synced once more.
  assert.deepEqual(events, ['folder', first, first, 'folder', inode()])
  assert.notEqual(first, inode())
  assert.ok(!openDescriptors().includes(`${walPath} (deleted)`), 'the one that is gone is closed')
  await sync.sync()
  assert.deepEqual(events.slice(5), [inode()])
})

test('no -wal at all means that everything is in the database and synced', async (t) => {
  const { sync, events, walPath } = await setup(t)
  unlinkSync(walPath)
  await sync.sync()
  assert.deepEqual(events, [])
})

test('a failed sync fails everybody who waits, and is never tried again', async (t) => {
  const { sync, events, gates, state, inode } = await setup(t)
  state.isGated = true
  state.fails = true
  const waiting = [sync.sync(() => events.push('told')), sync.sync(() => events.push('told'))]
  const settled = Promise.allSettled(waiting)
  await untilGated(gates)
  gates[0]?.()
  for (const result of await settled) {
    assert.equal(result.status, 'rejected')
    assert.equal(result.reason.code, 'NOT_DURABLE')
  }
  state.fails = false
  await assert.rejects(sync.sync(), { code: 'NOT_DURABLE' })
  assert.deepEqual(events, ['folder', inode(), 'failed NOT_DURABLE'])
})

test('a thread puts its own commits on the disk, or says that they are not there', async (t) => {
  const { folder, walPath } = await setup(t)
  const db = /** @type {any} */ ({ name: join(folder, 'a.db') })
  syncLog(db)
  unlinkSync(walPath)
  assert.throws(() => syncLog(db), { code: 'NOT_DURABLE', detail: 'ENOENT' })
})

/** Syncs a -wal while there are so many descriptors left, and frees some half a second later. */
const SCRIPT = `
  import { WalSync } from '${url('src/database/durability.js')}'
  import { takeDescriptors } from '${url('test/helpers/few-descriptors.js')}'
  const [databasePath, free] = process.argv.slice(1)
  const events = []
  const sync = new WalSync({
    databasePath,
    onFailure: (error) => events.push(error.detail),
    calls: {
      syncFile: async () => events.push('file'),
      syncFolder: async () => events.push('folder')
    }
  })
  const release = takeDescriptors(Number(free))
  setTimeout(() => {
    events.push('freed')
    release()
  }, 500)
  await sync.sync(() => events.push('told')).catch(() => {})
  await sync.sync(() => events.push('told')).catch(() => {})
  await sync.close()
  process.stdout.write(events.join(' '))`

for (const [what, free] of /** @type {const} */ ([
  ['the -wal', '0'],
  ['its folder', '1']
])) {
  test(`commits wait while there is no descriptor for ${what}, and are told after the sync`, async (t) => {
    const { folder } = await setup(t)
    const told = await runWithFewDescriptors(SCRIPT, [join(folder, 'a.db'), free])
    assert.equal(told, 'freed folder file told file told')
  })
}

const THREAD = `
  import { parentPort, workerData } from 'node:worker_threads'
  import { syncLog } from '${url('src/database/durability.js')}'
  parentPort.once('message', () => {
    try {
      syncLog({ name: workerData })
      parentPort.postMessage('synced')
    } catch (error) {
      parentPort.postMessage(error.detail)
    }
  })
  parentPort.postMessage('ready')`

/** The same in a thread. */
const THREAD_SCRIPT = `
  import { once } from 'node:events'
  import { Worker } from 'node:worker_threads'
  import { takeDescriptors } from '${url('test/helpers/few-descriptors.js')}'
  const [databasePath, module] = process.argv.slice(1)
  const thread = new Worker(module, { eval: true, workerData: databasePath })
  await once(thread, 'message')
  const release = takeDescriptors(0)
  setTimeout(release, 500)
  thread.postMessage('sync')
  const [answer] = await once(thread, 'message')
  process.stdout.write(answer)`

test('a thread waits for a descriptor as well', async (t) => {
  const { folder } = await setup(t)
  const answer = await runWithFewDescriptors(THREAD_SCRIPT, [join(folder, 'a.db'), THREAD])
  assert.equal(answer, 'synced')
})
