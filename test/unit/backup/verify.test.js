/**
 * What is found of backups that are damaged.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pruneBackups } from '../../../src/backup/prune.js'
import { Repository, packObject } from '../../../src/backup/repository.js'
import { unitsOf } from '../../../src/backup/snapshot-format.js'
import { readSnapshot } from '../../../src/backup/snapshot-store.js'
import { verifyBackups } from '../../../src/backup/verify.js'
import { MailError } from '../../../src/errors.js'
import { openBackupHost, verifyAll } from '../../helpers/backup.js'

const ANNA = 'anna@example.org'

test('a quick look sees that a pack is cut, also one that an earlier run has written', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 10, 30_000)
  const { generation: first } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(first)
  await host.addMessages(ANNA, 1)
  const { generation } = await host.backUp()
  const path = join(host.folder, packObject(accounts[0]?.snapshot.pack ?? ''))
  const quick = () =>
    verifyBackups({ repository: host.repository, generations: [generation], isQuick: true })
  assert.deepEqual((await quick()).problems, [])
  const bytes = await readFile(path)
  // Only the last byte of what is needed is missing.
  const now = (await host.repository.readGeneration(generation)).accounts[0]
  assert.ok(now && now.snapshot.pack !== accounts[0]?.snapshot.pack)
  const ends = [...unitsOf(await readSnapshot(host.target, now.snapshot))]
    .filter(({ pack }) => path.includes(pack))
    .map(({ offset, length }) => offset + length)
  await writeFile(path, bytes.subarray(0, Math.max(...ends) - 1))
  assert.deepEqual(
    (await quick()).problems.map(({ code, detail }) => [code, detail]),
    [['BACKUP_DAMAGED', `${packObject(accounts[0]?.snapshot.pack ?? '')} is too short`]]
  )
})

for (const [what, spoil] of /** @type {[string, (path: string) => Promise<void>][]} */ ([
  ['is missing', (path) => rm(path)],
  ['is cut', async (path) => writeFile(path, (await readFile(path)).subarray(0, 70_000))],
  [
    'has a changed byte',
    async (path) => {
      const bytes = await readFile(path)
      bytes[100_000] = (bytes[100_000] ?? 0) ^ 1
      await writeFile(path, bytes)
    }
  ]
])) {
  test(`verify finds a pack that ${what}, names the account, and looks at the others`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 10, 30_000)
    const { generation: first } = await host.backUp()
    await host.addAccount('bob@example.org', 3)
    const { generation: second } = await host.backUp()
    const { accounts } = await host.repository.readGeneration(first)
    await spoil(join(host.folder, packObject(accounts[0]?.snapshot.pack ?? '')))
    const { problems, snapshots } = await verifyAll(host)
    assert.deepEqual(
      problems.map(({ generation, accountId, code }) => [generation, accountId, code]),
      [first, second].map((generation) => [generation, anna.id, 'BACKUP_DAMAGED'])
    )
    assert.equal(snapshots, 1)
    // A quick look sees what is missing or cut, not a changed byte in the middle.
    const quick = await verifyAll(host, { isQuick: true })
    assert.equal(quick.problems.length > 0, what !== 'has a changed byte')
    assert.ok(quick.bytes <= 2 * 65_536)
  })
}

test('verify finds missing keys, directory and pepper', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA)
  const { generation } = await host.backUp()
  const { directory, pepper, accounts } = await host.repository.readGeneration(generation)
  const [entry] = accounts
  assert.ok(entry)
  await host.target.remove([directory, pepper])
  await host.target.put(`keys/${anna.id}/another.age`, Buffer.from('x'))
  await host.target.remove([entry.keys])
  const { problems } = await verifyAll(host)
  assert.deepEqual(
    problems.map(({ detail }) => detail),
    [directory, pepper, entry.keys].map((object) => `${object} is missing`)
  )
  // Nor is one any good of which a crash of the file system has left the name.
  for (const object of [directory, pepper, entry.keys])
    await host.target.put(object, Buffer.alloc(0))
  assert.deepEqual(
    (await verifyAll(host, { isQuick: true })).problems.map(({ detail }) => detail),
    [directory, pepper, entry.keys].map((object) => `${object} is too short`)
  )
})

test('a place that cannot be reached amid a look is told as such, and no backup as damaged', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA)
  const { generation } = await host.backUp()
  const repository = new Repository({
    ...host.target,
    getRange: async () => {
      throw new MailError('BACKUP_UNREACHABLE')
    }
  })
  await assert.rejects(verifyBackups({ repository, generations: [generation] }), {
    code: 'BACKUP_UNREACHABLE'
  })
})

test('what is pruned while it is verified is no damage', async (t) => {
  const host = await openBackupHost(t, {
    'backup.keepDaily': 1,
    'backup.keepWeekly': 0,
    'backup.keepMonthly': 0
  })
  await host.addAccount(ANNA, 3)
  const { generation: first } = await host.backUp()
  const { generation: second } = await host.backUp()
  let isPruned = false
  const repository = new Repository({
    ...host.target,
    get: async (name) => {
      const bytes = await host.target.get(name)
      if (!isPruned && name === `generations/${first}.json`) {
        isPruned = true
        await pruneBackups({ ...host.services, target: host.target })
      }
      return bytes
    }
  })
  const report = await verifyBackups({ repository, generations: [first, second] })
  assert.deepEqual([report.generations, report.problems], [1, []])
  const gone = await verifyBackups({ repository, generations: [first] })
  assert.deepEqual([gone.generations, gone.problems], [0, []])
})

test('what a prune writes anew while it is verified is looked at where it lies now', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const { snapshot } = (await host.repository.readGeneration(generation)).accounts[0] ?? {}
  let isMoved = false
  const repository = new Repository({
    ...host.target,
    get: async (name) => {
      const bytes = await host.target.get(name)
      if (isMoved || !name.startsWith('generations/')) return bytes
      isMoved = true
      return Buffer.from(String(bytes).replaceAll(snapshot?.pack ?? '', 'f'.repeat(32)))
    }
  })
  const report = await verifyBackups({ repository, generations: [generation] })
  assert.deepEqual([report.generations, report.snapshots, report.problems], [1, 1, []])
})
