/**
 * A target that has lost something, or gives back what nobody wrote: the backups of the nights that follow are whole
 * again, and what is damaged keeps nothing else from being restored.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { loadConfig } from '../../../config/load.js'
import { rehearseRestore } from '../../../src/backup/rehearse.js'
import { restoreHost } from '../../../src/backup/restore-host.js'
import { findInSealedDirectory } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey, sealBytes } from '../../../src/backup/sealed.js'
import { verifyBackups } from '../../../src/backup/verify.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { openBackupHost } from '../../helpers/backup.js'
import { ANNA, restore } from '../../helpers/restore.js'

const BOB = 'bob@example.org'

/** @typedef {Awaited<ReturnType<typeof openBackupHost>>} Host */

/**
 * @param {Host} host
 * @param {string} generation
 */
const verify = async (host, generation) =>
  await verifyBackups({ repository: host.repository, generations: [generation] })

/**
 * @param {Host} host
 * @param {string} prefix
 * @returns {Promise<string[]>} names of the objects
 */
async function objectsOf(host, prefix) {
  const names = []
  for await (const { name } of host.target.list(prefix)) names.push(name)
  return names
}

test('a damaged manifest is not the end of all backups: the next builds on the one before it', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 5)
  await host.backUp()
  const { generation: damaged } = await host.backUp()
  await truncate(join(host.folder, 'generations', `${damaged}.json`), 50)
  await writeFile(join(host.folder, 'partial.json'), '{"for')
  const { generation, failed, newBytes } = await host.backUp()
  assert.deepEqual([failed, newBytes], [[], 0])
  assert.deepEqual((await verify(host, generation)).problems, [])
  assert.equal(await host.repository.readPartial(), null)
})

for (const [what, spoil] of /** @type {[string, (path: string) => Promise<void>][]} */ ([
  ['lost', (path) => rm(path)],
  ['cut', (path) => truncate(path, 1000)]
])) {
  test(`packs that were ${what} are stored again by the next run, of mailboxes that did not change too`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 5)
    await host.addAccount(BOB, 3)
    await host.backUp()
    const packs = await objectsOf(host, 'packs/')
    await host.addMessages(ANNA, 1)
    const { generation: second } = await host.backUp()
    // Of the first, only what is in the packs is needed: the snapshots of the second lie with what it stored.
    for (const pack of packs) await spoil(join(host.folder, pack))
    assert.equal((await verify(host, second)).problems.length, 2)

    const { generation: third } = await host.backUp()
    assert.deepEqual((await verify(host, third)).problems, [])
    await restore(host, anna, third)
    assert.equal((await host.inboxOf(ANNA)).count, 6)
  })
}

test('keys that were lost are missed by verify and rehearsal, and are stored again by the next run', async (t) => {
  const host = await openBackupHost(t, { 'backup.rehearsalAccounts': 2 })
  const anna = await host.addAccount(ANNA)
  await host.addAccount(BOB)
  const { generation } = await host.backUp()
  await host.target.remove(await objectsOf(host, `keys/${anna.id}/`))
  const { problems } = await verify(host, generation)
  assert.deepEqual(
    problems.map(({ accountId, code }) => [accountId, code]),
    [[anna.id, 'BACKUP_DAMAGED']]
  )
  const rehearse = () => rehearseRestore({ ...host.services, target: host.target })
  assert.deepEqual((await rehearse()).failed, [{ id: anna.id, code: 'BACKUP_DAMAGED' }])

  const { generation: next } = await host.backUp()
  assert.deepEqual((await verify(host, next)).problems, [])
  assert.deepEqual((await rehearse()).failed, [])
  await host.target.remove(await objectsOf(host, 'directory/'))
  await assert.rejects(rehearse(), { code: 'BACKUP_DAMAGED' })
})

for (const [what, spoil] of /** @type {[string, (path: string) => Promise<void>][]} */ ([
  ['lost', (path) => rm(path)],
  ['emptied', (path) => truncate(path)]
])) {
  test(`a pepper that was ${what} is stored again by the next run`, async (t) => {
    const host = await openBackupHost(t)
    const { generation: first } = await host.backUp()
    const { pepper } = await host.repository.readGeneration(first)
    await spoil(join(host.folder, pepper))
    await host.backUp()
    const sealed = await host.target.get(pepper)
    const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
    assert.equal((await recoveryKey.open(sealed ?? Buffer.alloc(0))).length, 32)
  })
}

test('a mailbox that is none is not copied as one, and beside a log that may hold it, verify tells of it', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 5)
  await host.addAccount(BOB, 2)
  const path = join(anna.folder, 'mail.db')
  const bytes = await readFile(path)
  // Page size, log, payload fractions, and a file that ends within a page.
  const spoilt = [
    [16, 0x30],
    [18, 1],
    [21, 0]
  ].map(([at = 0, byte = 0]) => Buffer.from(bytes).fill(byte, at, at + 1))
  for (const header of [...spoilt, bytes.subarray(0, -1), bytes.subarray(0, 20), Buffer.alloc(0)]) {
    await writeFile(path, header)
    const { failed } = await host.backUp()
    assert.deepEqual(failed, [{ id: anna.id, address: ANNA, code: 'ACCOUNT_DAMAGED' }])
  }
  await writeFile(path, Buffer.alloc(bytes.length))
  await writeFile(`${path}-wal`, bytes.subarray(0, 4096))
  const { generation, failed } = await host.backUp()
  assert.deepEqual(failed, [])
  for (const isQuick of [false, true]) {
    const { problems } = await verifyBackups({
      repository: host.repository,
      generations: [generation],
      isQuick
    })
    assert.deepEqual(
      problems.map(({ accountId, code }) => [accountId, code]),
      [[anna.id, 'BACKUP_DAMAGED']]
    )
  }
  await rm(`${path}-wal`)
  await writeFile(path, bytes)
  const { generation: next } = await host.backUp()
  assert.deepEqual((await verify(host, next)).problems, [])
})

test('a host comes back although the keys of one account do not open', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 2)
  await host.addAccount(BOB, 2)
  const { generation: name } = await host.backUp()
  const [keys = ''] = await objectsOf(host, `keys/${anna.id}/`)
  const sealed = await readFile(join(host.folder, keys))
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
  await writeFile(join(host.folder, keys), sealed)

  const data = join(await scratchFolder(t), 'new')
  const settings = { data, defaultDomain: 'example.org', 'backup.folder': host.folder }
  const summary = await restoreHost({
    config: loadConfig({ settings, environment: {} }),
    repository: host.repository,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    clock: host.clock,
    logger: host.services.logger
  })
  assert.deepEqual(summary, {
    accounts: 1,
    missing: [{ address: ANNA, code: 'RECOVERY_KEY_REJECTED' }]
  })
})

/**
 * A backup whose directory somebody has forged who can write the target: what it is sealed to is no secret.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} sql - what is done to the directory
 */
async function forgedBackup(t, sql) {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 1)
  const { generation: name } = await host.backUp()
  const generation = await host.repository.readGeneration(name)
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const folder = await scratchFolder(t)
  const path = join(folder, 'forged.db')
  const sealed = await host.target.get(generation.directory)
  await writeFile(path, await recoveryKey.open(sealed ?? Buffer.alloc(0)))
  const forged = new Database(path)
  forged.pragma('foreign_keys = OFF')
  forged.exec(sql)
  forged.close()
  await host.target.put(
    generation.directory,
    await sealBytes(await readFile(path), recoveryKey.recipient)
  )
  return { host, generation, recoveryKey, folder }
}

for (const [what, sql] of /** @type {const} */ ([
  ['puts a mailbox elsewhere', "UPDATE accounts SET folder = 'mail/../../outside'"],
  [
    'lists folders of others to be removed',
    `CREATE TRIGGER forged AFTER INSERT ON audit BEGIN
       INSERT OR IGNORE INTO removals (folder, requested_at_ms) VALUES ('../outside', 0);
     END`
  ],
  [
    'has a view in the place of a table',
    'ALTER TABLE planned_folders RENAME TO p; CREATE VIEW planned_folders AS SELECT * FROM p'
  ],
  ['calls an account as a path', "UPDATE accounts SET id = '../../../outside/x'"]
])) {
  test(`a directory in the target that somebody has forged so that it ${what} restores no host`, async (t) => {
    const { host, generation, recoveryKey, folder } = await forgedBackup(t, sql)
    const data = join(folder, 'new')
    const settings = { data, defaultDomain: 'example.org', 'backup.folder': host.folder }
    const restoring = restoreHost({
      config: loadConfig({ settings, environment: {} }),
      repository: host.repository,
      generation,
      recoveryKey,
      clock: host.clock,
      logger: host.services.logger
    })
    await assert.rejects(restoring, { code: 'BACKUP_DAMAGED' })
    assert.deepEqual((await readdir(folder)).sort(), ['forged.db', 'new'])
  })
}

test('no deleted account comes out of a forged directory whose id would be a path', async (t) => {
  const sql = "UPDATE accounts SET id = '../../../outside/x'"
  const { host, generation, recoveryKey, folder } = await forgedBackup(t, sql)
  const finding = findInSealedDirectory({
    target: host.target,
    generation,
    recoveryKey,
    scratchFile: join(folder, 'opened.db'),
    address: ANNA,
    dataFolder: folder,
    clock: host.clock,
    logger: host.services.logger
  })
  await assert.rejects(finding, { code: 'BACKUP_DAMAGED' })
  assert.deepEqual(await readdir(folder), ['forged.db'])
})

test('a pepper of another host that stands in the way is told before anything is restored', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 1)
  const { generation: name } = await host.backUp()
  const folder = await scratchFolder(t)
  const pepperFile = join(folder, 'pepper')
  await writeFile(pepperFile, Buffer.alloc(32, 7), { mode: 0o600 })
  const data = join(folder, 'new')
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const opening = t.mock.method(recoveryKey, 'open')
  const restoring = restoreHost({
    config: loadConfig({
      settings: { data, 'auth.pepperFile': pepperFile, 'backup.folder': host.folder },
      environment: {}
    }),
    repository: host.repository,
    generation: await host.repository.readGeneration(name),
    recoveryKey,
    clock: host.clock,
    logger: host.services.logger
  })
  await assert.rejects(restoring, { code: 'RESTORE_REFUSED' })
  assert.deepEqual(await readdir(folder), ['pepper'])
  const pepper = await opening.mock.calls.at(-1)?.result
  assert.deepEqual(pepper, Buffer.alloc(32))
})
