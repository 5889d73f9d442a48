import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { initBackups } from '../../../src/backup/init.js'
import { pruneBackups } from '../../../src/backup/prune.js'
import { rehearseRestore } from '../../../src/backup/rehearse.js'
import { Repository, packObject } from '../../../src/backup/repository.js'
import { runBackup } from '../../../src/backup/run.js'
import { unitsOf } from '../../../src/backup/snapshot-format.js'
import { readSnapshot } from '../../../src/backup/snapshot-store.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { MailError } from '../../../src/errors.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { tamper } from '../../helpers/accounts.js'
import { openBackupHost, verifyAll } from '../../helpers/backup.js'

const ANNA = 'anna@example.org'
const DAY_MS = 24 * 60 * 60 * 1000

/** @typedef {Awaited<ReturnType<typeof openBackupHost>>} Host */

/** @param {Host} host */
const prune = (host) => pruneBackups({ ...host.services, target: host.target })

/**
 * @param {Host} host
 * @returns {Promise<number>} what the next backup has to store, of mailboxes and spools
 */
async function newBytesOf(host) {
  const { newBytes, failed } = await host.backUp()
  assert.deepEqual(failed, [])
  return newBytes
}

/**
 * @param {Host} host
 * @returns {Promise<Map<string, number>>} sizes of the packs
 */
async function packsOf(host) {
  const packs = new Map()
  for await (const { name, size } of host.target.list('packs/')) packs.set(name, size)
  return packs
}

test('old generations go, and with them what only they needed; what is kept stays whole', async (t) => {
  const host = await openBackupHost(t, {
    'backup.keepDaily': 2,
    'backup.keepWeekly': 0,
    'backup.keepMonthly': 0
  })
  await host.addAccount(ANNA, 20, 30_000)
  for (let day = 0; day < 4; day++) {
    await host.backUp()
    await host.addMessages(ANNA, 5, 60_000)
    host.clock.advance(DAY_MS)
  }
  const all = await host.repository.listGenerations()
  const before = await packsOf(host)
  const dry = await pruneBackups({ ...host.services, target: host.target, isDryRun: true })
  assert.deepEqual(dry.dropped, all.slice(0, 2))
  assert.deepEqual(await host.repository.listGenerations(), all)
  assert.deepEqual(await packsOf(host), before)

  const { kept, dropped, objects, freedBytes } = await prune(host)
  assert.deepEqual(dropped, all.slice(0, 2))
  assert.deepEqual(await host.repository.listGenerations(), kept)
  assert.ok(objects >= 2 && freedBytes > 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
  assert.equal((await readdir(join(host.folder, 'directory'))).length, 2)
  assert.equal((await prune(host)).objects, 0)
})

/**
 * @param {import('node:test').TestContext} t
 * @param {number} [keepDaily]
 * @returns {Promise<{ host: Host, anna: { id: string }, first: string, accounts: import('../../../src/backup/repository.js').AccountEntry[] }>}
 *   a host with a pack that Anna's mailbox fills for the most part, which the second of two backups has no longer; the other is
 *   in it unchanged. `accounts`: of the first one
 */
async function openWithThinPack(t, keepDaily = 1) {
  const host = await openBackupHost(t, {
    'backup.keepDaily': keepDaily,
    'backup.keepWeekly': 0,
    'backup.keepMonthly': 0
  })
  const anna = await host.addAccount(ANNA, 60, 60_000)
  await host.addAccount('bob@example.org', 3)
  const { generation: first } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(first)
  await host.services.directory.deleteAccount(anna.id)
  host.clock.advance(DAY_MS)
  await host.backUp()
  return { host, anna, first, accounts }
}

test('a pack of which little is still needed is written anew', async (t) => {
  const { host, anna, accounts } = await openWithThinPack(t)
  const pack = packObject(accounts[0]?.snapshot.pack ?? '')
  // A run of which as little lies there has died since.
  const startedAtMs = host.clock.nowMs()
  const kept = accounts.filter(({ id }) => id !== anna.id)
  await host.repository.writePartial({ startedAtMs, accounts: kept })
  const { repackedBytes, freedBytes } = await prune(host)
  assert.ok(repackedBytes > 0 && freedBytes > repackedBytes)
  assert.equal((await packsOf(host)).has(pack), false)
  assert.deepEqual((await verifyAll(host)).problems, [])
  // What was moved is known to the next run.
  assert.equal(await newBytesOf(host), 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
})

test('a damaged unit keeps its pack from being written anew, and nothing from being swept', async (t) => {
  const { host, anna, accounts, first } = await openWithThinPack(t)
  const bob = accounts.find(({ id }) => id !== anna.id)
  assert.ok(bob)
  const [unit] = unitsOf(await readSnapshot(host.target, bob.snapshot))
  assert.ok(unit)
  const path = join(host.folder, packObject(unit.pack))
  const bytes = await readFile(path)
  bytes[unit.offset] = (bytes[unit.offset] ?? 0) ^ 1
  await writeFile(path, bytes)
  const { repackedBytes, dropped, objects } = await prune(host)
  assert.deepEqual([repackedBytes, dropped], [0, [first]])
  assert.ok(objects > 0)
  assert.equal((await packsOf(host)).has(packObject(unit.pack)), true)
})

test('a place that is full is pruned all the same, and packs are written anew once there is room', async (t) => {
  const { host, first } = await openWithThinPack(t)
  const pruneWhere = (/** @type {import('../../../src/errors.js').ErrorCode} */ code) => {
    const putFile = () => Promise.reject(new MailError(code))
    return pruneBackups({ ...host.services, target: { ...host.target, putFile } })
  }
  const { dropped, freedBytes, repackedBytes } = await pruneWhere('DISK_FULL')
  assert.deepEqual([dropped, repackedBytes], [[first], 0])
  assert.ok(freedBytes > 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
  await assert.rejects(pruneWhere('BACKUP_UNREACHABLE'), { code: 'BACKUP_UNREACHABLE' })
  assert.ok((await prune(host)).repackedBytes > 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
})

test('where only some of the backups could be told of packs that were written anew, both stay', async (t) => {
  const { host, accounts } = await openWithThinPack(t, 2)
  host.clock.advance(DAY_MS)
  // Of what the mailbox has in the next backup, a part lies in the first one's pack, and the rest in another.
  await host.addMessages('bob@example.org', 1)
  await host.backUp()
  let told = 0
  const target = {
    ...host.target,
    /** @type {typeof host.target.put} */
    put: async (name, bytes) => {
      if (name.startsWith('generations/') && ++told === 2) throw new MailError('DISK_FULL')
      await host.target.put(name, bytes)
    }
  }
  const { kept } = await pruneBackups({ ...host.services, target })
  assert.deepEqual([kept.length, told], [2, 2])
  assert.deepEqual((await verifyAll(host)).problems, [])
  await prune(host)
  const pack = packObject(accounts[0]?.snapshot.pack ?? '')
  assert.equal((await packsOf(host)).has(pack), false)
  assert.deepEqual((await verifyAll(host)).problems, [])
})

test('a mailbox that is again as it was is kept wherever a backup says that it lies', async (t) => {
  const host = await openBackupHost(t)
  const { folder } = await host.addAccount(ANNA, 20)
  const waiting = join(folder, 'spool', `${'a'.repeat(32)}.sealed`)
  for (const waits of [true, false, true, false]) {
    if (waits) await writeFile(waiting, randomBytes(1000))
    else await rm(waiting)
    await host.backUp()
    host.clock.advance(DAY_MS)
  }
  const [, second, , fourth] = await host.repository.listGenerations()
  assert.ok(second && fourth)
  const [before, after] = await Promise.all(
    [second, fourth].map(
      async (name) => (await host.repository.readGeneration(name)).accounts[0]?.snapshot
    )
  )
  assert.ok(before && after)
  assert.equal(before.sha256, after.sha256)
  assert.notEqual(before.pack, after.pack)
  assert.equal((await prune(host)).objects, 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
  // Nor does one of the two stand for the other where that is gone.
  await rm(join(host.folder, packObject(after.pack)))
  assert.deepEqual(
    (await verifyAll(host)).problems.map(({ generation }) => generation),
    [fourth]
  )
})

test('where something that is to stay cannot be read, nothing is swept', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 20)
  const { generation } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(generation)
  const pointer = accounts[0]?.snapshot
  assert.ok(pointer)
  const path = join(host.folder, packObject(pointer.pack))
  const bytes = await readFile(path)
  bytes[pointer.offset] = (bytes[pointer.offset] ?? 0) ^ 1
  await writeFile(path, bytes)
  await writeFile(join(host.folder, 'keys', 'stray.age'), 'nobody needs this')
  await assert.rejects(prune(host), { code: 'BACKUP_DAMAGED' })
  assert.ok((await readdir(join(host.folder, 'keys'))).includes('stray.age'))
})

test('what a killed run left half written is removed, and what it had noted is kept', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 20)
  const { generation } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(generation)
  const stray = join(host.folder, 'packs', 'aa')
  await host.repository.writePartial({ startedAtMs: host.clock.nowMs() + 1, accounts })
  await host.repository.removeGenerations([generation])
  await host.backUp()
  const half = join(host.folder, 'pepper', `x.age.${'a'.repeat(12)}.tmp`)
  await writeFile(half, 'half')
  await utimes(half, new Date(0), new Date(0))
  await prune(host)
  assert.deepEqual(
    (await readdir(join(host.folder, 'pepper'))).filter((name) => name.endsWith('.tmp')),
    []
  )
  assert.deepEqual((await verifyAll(host)).problems, [])
  await rm(stray, { recursive: true, force: true })
})

test('what a first run that was cut off has stored stays until the next one goes on with it', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 20)
  const { config, logger } = host.services
  /** @type {typeof host.target} */
  const target = {
    ...host.target,
    put: async (name, bytes) => {
      if (name.startsWith('generations/')) throw new MailError('BACKUP_UNREACHABLE')
      await host.target.put(name, bytes)
    }
  }
  await assert.rejects(runBackup({ config, logger, clock: host.clock, target }), {
    code: 'BACKUP_UNREACHABLE'
  })
  assert.deepEqual(await prune(host), {
    kept: [],
    dropped: [],
    objects: 0,
    freedBytes: 0,
    repackedBytes: 0
  })
  assert.equal(await newBytesOf(host), 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
  // So does what a later one has stored, beside the backups that there are.
  await host.addMessages(ANNA, 20, 60_000)
  host.clock.advance(1000)
  await assert.rejects(runBackup({ config, logger, clock: host.clock, target }), {
    code: 'BACKUP_UNREACHABLE'
  })
  const before = await packsOf(host)
  await prune(host)
  assert.deepEqual(await packsOf(host), before)
  assert.equal(await newBytesOf(host), 0)
  assert.deepEqual((await verifyAll(host)).problems, [])
})

test('where the manifests, or the one of the last run, are not where they were, nothing is removed', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 20)
  await host.backUp()
  await host.addMessages(ANNA, 5)
  const { generation: last } = await host.backUp()
  const before = await packsOf(host)
  const folder = join(host.folder, 'generations')
  const refused = async () => {
    await assert.rejects(prune(host), { code: 'BACKUP_DAMAGED' })
    assert.deepEqual(await packsOf(host), before)
  }
  const manifest = join(folder, `${last}.json`)
  await rename(manifest, `${manifest}.moved`)
  await refused()
  await rename(`${manifest}.moved`, manifest)
  await rename(folder, `${folder}.moved`)
  await refused()
  // Nor where the host has lost its memory of them.
  tamper(host.data, "DELETE FROM audit WHERE action = 'backup'")
  await refused()
  await rename(`${folder}.moved`, folder)
  assert.deepEqual((await prune(host)).kept, [last])
  assert.deepEqual((await verifyAll(host)).problems, [])
})

test('a backup of a time that is yet to come is given up by hand, as the manual says, and the others are pruned', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 5)
  const { generation: kept } = await host.backUp()
  host.clock.advance(400 * DAY_MS)
  const { generation: ahead } = await host.backUp()
  host.clock.advance(-399 * DAY_MS)
  await rm(join(host.folder, 'generations', `${ahead}.json`))
  assert.deepEqual((await prune(host)).kept, [kept])
})

test('a second target has none of the runs into the first, and is pruned as well', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 1)
  await host.backUp()
  const target = openFolderTarget(await scratchFolder(t))
  const { data, clock } = host
  await initBackups({ data, repository: new Repository(target), clock, showKey: assert.fail })
  assert.equal((await pruneBackups({ ...host.services, target })).objects, 0)
})

test('the backup of this night stays whole where the storage does not list it yet', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 3)
  const { generation: first } = await host.backUp()
  await host.addMessages(ANNA, 3)
  const { generation: second } = await host.backUp()
  const target = {
    ...host.target,
    /** @type {import('../../../src/backup/targets/target.js').BackupTarget['list']} */
    list: async function* (prefix) {
      for await (const object of host.target.list(prefix))
        if (object.name !== `generations/${second}.json`) yield object
    }
  }
  const { kept } = await pruneBackups({ ...host.services, target })
  assert.deepEqual(kept, [second])
  assert.deepEqual((await verifyAll(host)).problems, [])
  assert.deepEqual(await host.repository.listGenerations(), [second])
  assert.notEqual(first, second)
  // Nor is one gone that the storage does not give just now.
  const get = async (/** @type {string} */ name) => {
    if (name === `generations/${second}.json`) throw new MailError('BACKUP_UNREACHABLE')
    return await host.target.get(name)
  }
  await assert.rejects(pruneBackups({ ...host.services, target: { ...target, get } }), {
    code: 'BACKUP_UNREACHABLE'
  })
})

test('a prune that another host’s take-over overtakes removes nothing more', async (t) => {
  const { host } = await openWithThinPack(t)
  const before = await packsOf(host)
  const marker = await host.repository.readMarker()
  assert.ok(marker)
  const target = {
    ...host.target,
    /** @type {typeof host.target.list} */
    list: async function* (prefix) {
      if (prefix === 'pepper/') await host.repository.writeMarker({ ...marker, hostId: 'another' })
      yield* host.target.list(prefix)
    }
  }
  await assert.rejects(pruneBackups({ ...host.services, target }), { code: 'BACKUP_NOT_READY' })
  const after = await packsOf(host)
  for (const name of before.keys()) assert.ok(after.has(name), name)
})

test('a rehearsal restores as many accounts as it is told, leaves nothing, and names those that fail', async (t) => {
  const host = await openBackupHost(t, { 'backup.rehearsalAccounts': 2 })
  for (const name of ['a', 'b', 'c']) await host.addAccount(`${name}@example.org`, 2)
  const { generation } = await host.backUp()
  const rehearse = () => rehearseRestore({ ...host.services, target: host.target })
  const good = await rehearse()
  assert.deepEqual([good.accounts, good.failed], [2, []])
  assert.deepEqual(await readdir(join(host.data, 'tmp')), [])
  const { accounts } = await host.repository.readGeneration(generation)
  await rm(join(host.folder, packObject(accounts[0]?.snapshot.pack ?? '')))
  const bad = await rehearse()
  assert.equal(bad.accounts, 0)
  assert.deepEqual(
    bad.failed.map(({ code }) => code),
    ['BACKUP_DAMAGED', 'BACKUP_DAMAGED']
  )
})
