import assert from 'node:assert/strict'
import { fstatSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WalSync, syncLog } from '../../../src/database/durability.js'
import { scratchFolder } from '../../helpers/account-folder.js'

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

test('a -wal that was deleted and made again is followed, and its folder synced', async (t) => {
  const { sync, events, walPath, inode } = await setup(t)
  await sync.sync()
  const first = inode()
  writeFileSync(`${walPath}.new`, 'other frames')
  unlinkSync(walPath)
  renameSync(`${walPath}.new`, walPath)
  await sync.sync()
  assert.deepEqual(events, ['folder', first, 'folder', inode()])
  assert.notEqual(first, inode())
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
