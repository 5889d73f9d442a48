/**
 * What stops a run of the backup and what does not, and what a stopped one leaves behind.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import {
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  truncate,
  writeFile
} from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { pruneBackups } from '../../../src/backup/prune.js'
import { runBackup } from '../../../src/backup/run.js'
import { withBackupLock } from '../../../src/backup/scratch.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { verifyBackups } from '../../../src/backup/verify.js'
import { openBackupHost } from '../../helpers/backup.js'

test('one bad mailbox stops nothing: it is in the summary, and in the generation as it was before', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 3)
  await host.addAccount('bob@example.org', 3)
  const first = await host.repository.readGeneration((await host.backUp()).generation)
  await rm(join(anna.folder, 'mail.db'))
  const carol = await host.addAccount('carol@example.org', 3)
  await rm(join(carol.folder, 'mail.db'))
  // As a file system may leave it after a power cut.
  const dave = await host.addAccount('dave@example.org', 3)
  await truncate(join(dave.folder, 'mail.db'))
  const eve = await host.addAccount('eve@example.org', 3)
  const db = new Database(join(host.config.data, 'directory.db'))
  db.prepare('DELETE FROM account_seals WHERE account_id = ?').run(eve.id)
  db.close()
  const summary = await host.backUp()
  assert.deepEqual(summary.failed.map(({ address, code }) => [address, code]).sort(), [
    ...['anna', 'carol', 'dave'].map((name) => [`${name}@example.org`, 'ACCOUNT_DAMAGED']),
    ['eve@example.org', 'DIRECTORY_DAMAGED']
  ])
  assert.equal(summary.accounts, 1)
  const second = await host.repository.readGeneration(summary.generation)
  assert.deepEqual(
    second.accounts.find(({ id }) => id === anna.id),
    first.accounts.find(({ id }) => id === anna.id)
  )
  assert.equal(second.accounts.length, 2)
})

test('one folder that cannot be looked at stops nothing either', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 3)
  await host.addAccount('bob@example.org', 3)
  await rm(anna.folder, { recursive: true })
  await writeFile(anna.folder, 'this is no folder')
  const summary = await host.backUp()
  assert.deepEqual(
    summary.failed.map(({ address }) => address),
    ['anna@example.org']
  )
  assert.equal(summary.accounts, 1)
})

test('two backups at once on one host: the second is refused', async (t) => {
  const host = await openBackupHost(t)
  await withBackupLock(host.data, async () => {
    await assert.rejects(host.backUp(), { code: 'BACKUP_RUNNING' })
  })
  await host.backUp()
})

test('a scratch folder that cannot be removed keeps no later backup out', async (t) => {
  const { data } = await openBackupHost(t)
  const { rm: remove } = fs.promises
  const removing = t.mock.method(fs.promises, 'rm', async (/** @type {string} */ path) => {
    if (path.includes('backup-')) throw Object.assign(new Error('EIO'), { code: 'EIO' })
    await remove(path)
  })
  syncBuiltinESMExports()
  await assert.rejects(
    withBackupLock(data, async () => {}),
    { code: 'EIO' }
  )
  removing.mock.restore()
  syncBuiltinESMExports()
  assert.equal(await withBackupLock(data, async () => 'done'), 'done')
})

test('a backup that fails at its scratch file leaves the directory closed', async (t) => {
  const host = await openBackupHost(t)
  const held = async () => {
    const descriptors = await readdir('/proc/self/fd')
    const paths = await Promise.all(
      descriptors.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => ''))
    )
    return paths.filter((path) => path.startsWith(join(host.data, 'directory.db'))).length
  }
  // While another connection of this process is open, SQLite keeps the descriptor of one that is closed.
  await host.services.close()
  const { open } = fs.promises
  const opening = t.mock.method(
    fs.promises,
    'open',
    async (/** @type {string} */ path, /** @type {string} */ flags, /** @type {number} */ mode) => {
      if (path.endsWith('units')) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      return await open(path, flags, mode)
    }
  )
  syncBuiltinESMExports()
  await assert.rejects(host.backUp(), { code: 'EIO' })
  opening.mock.restore()
  syncBuiltinESMExports()
  assert.equal(await held(), 0)
})

test('a damaged directory is no backup: the run says so, and the last one stays as it was', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 3)
  const { generation } = await host.backUp()
  await host.services.directory.flush()
  const path = join(host.config.data, 'directory.db')
  const db = new Database(path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  const page = db.prepare("SELECT min(pageno) FROM dbstat WHERE name = 'api_tokens'").pluck().get()
  db.close()
  const file = fs.openSync(path, 'r+')
  fs.writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (Number(page) - 1) * 4096)
  fs.closeSync(file)
  await assert.rejects(host.backUp(), {
    code: 'DIRECTORY_DAMAGED',
    detail: /^directory\.db: .*the last backup is kept: .*The directory alone/s
  })
  assert.deepEqual(await host.repository.listGenerations(), [generation])
})

test('mailboxes without a directory, or with an empty one, are no host without accounts', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 1)
  await host.services.close()
  const { config, target, clock, services } = host
  const parts = { config, target, clock, logger: services.logger }
  await truncate(join(config.data, 'directory.db'))
  for (const work of [runBackup, pruneBackups]) {
    await assert.rejects(work(parts), { code: 'DIRECTORY_MISSING' })
    assert.equal((await stat(join(config.data, 'directory.db'))).size, 0)
  }
  assert.deepEqual(await host.repository.listGenerations(), [])
})

test('a target that is unmounted during a run ends it, and nothing is written into the folder below', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 30, 50_000)
  const { config, logger } = host.services
  const folderTarget = openFolderTarget(host.folder)
  const mounted = `${host.folder}-mounted`
  t.after(() => rm(mounted, { recursive: true, force: true }))
  let isMounted = true
  const target = {
    ...folderTarget,
    /** @type {import('../../../src/backup/targets/target.js').BackupTarget['putFile']} */
    putFile: async (name, path) => {
      if (isMounted) {
        await rename(host.folder, mounted)
        await mkdir(host.folder)
        isMounted = false
      }
      await folderTarget.putFile(name, path)
    }
  }
  await assert.rejects(runBackup({ config, logger, clock: host.clock, target }), {
    code: 'BACKUP_UNREACHABLE',
    detail: /letterlock-backup\.json has gone: is the disk .* still mounted\?$/
  })
  assert.deepEqual(await readdir(host.folder), [])
  await rmdir(host.folder)
  await assert.rejects(folderTarget.put('packs/x', Buffer.alloc(1)), { code: 'BACKUP_UNREACHABLE' })
  await assert.rejects(stat(host.folder), { code: 'ENOENT' })
})

test('a run that dies half-way leaves the last backup whole, and the next one uses what it stored', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 30, 50_000)
  const { generation } = await host.backUp()
  await host.addAccount('bob@example.org', 60, 50_000)
  const { config, logger } = host.services
  // The disk of the target fills up at the manifest.
  const target = {
    ...openFolderTarget(host.folder),
    /** @type {import('../../../src/backup/targets/target.js').BackupTarget['put']} */
    put: async (name, bytes) => {
      if (name.startsWith('generations/')) throw new Error('no room')
      await host.target.put(name, bytes)
    }
  }
  host.clock.advance(1000)
  await assert.rejects(runBackup({ config, logger, clock: host.clock, target }), /no room/)
  assert.deepEqual(await host.repository.listGenerations(), [generation])
  const generations = [generation]
  const report = await verifyBackups({ repository: host.repository, generations })
  assert.deepEqual(report.problems, [])
  const { newBytes, failed } = await host.backUp()
  assert.deepEqual([newBytes, failed], [0, []])
  assert.equal(await host.repository.readPartial(), null)
})
