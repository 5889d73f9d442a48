/**
 * A run of the backup: what is in it, what stops it and what does not, and what it leaves behind.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { randomBytes } from 'node:crypto'
import {
  mkdir,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  truncate,
  utimes,
  writeFile
} from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { createBackupList } from '../../../src/backup/backup-list.js'
import { chooseGeneration } from '../../../src/backup/choose.js'
import { pruneBackups } from '../../../src/backup/prune.js'
import { runBackup } from '../../../src/backup/run.js'
import { withBackupLock } from '../../../src/backup/scratch.js'
import { findInSealedDirectory, openKeys } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { readSnapshot } from '../../../src/backup/snapshot-store.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { verifyBackups } from '../../../src/backup/verify.js'
import { readFreezeFile } from '../../../src/database/freeze-file.js'
import { lockShared } from '../../../src/database/lock.js'
import { appendOne } from '../../helpers/account-folder.js'
import { logIn, withStore } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'
import { writeSpoolFile } from '../../helpers/spool.js'

const DAY_MS = 24 * 60 * 60 * 1000

test('every account is in it, locked as it is, and nothing is left behind', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 20)
  await host.addAccount('bob@example.org')
  const summary = await host.backUp()
  assert.deepEqual(summary.failed, [])
  assert.equal(summary.accounts, 2)
  assert.ok(summary.newBytes > 0)
  assert.deepEqual(await host.repository.listGenerations(), [summary.generation])
  const generations = [summary.generation]
  const report = await verifyBackups({ repository: host.repository, generations })
  assert.deepEqual(report.problems, [])
  assert.equal(report.snapshots, 2)
  assert.equal(readFreezeFile(anna.folder), null)
  assert.deepEqual(await readdir(join(host.data, 'tmp')), [])
  assert.equal(await host.repository.readPartial(), null)
})

test('what a killed restore has left goes with the next backup, and what is asked for stays', async (t) => {
  const host = await openBackupHost(t)
  const { folder, id: accountId } = await host.addAccount('anna@example.org')
  const { directory } = host.services
  const domainFolder = dirname(folder)
  const names = async () => [await readdir(domainFolder), await readdir(folder)]
  const before = await names()
  for (const left of [join(folder, 'restore-left'), join(domainFolder, 'another.part')]) {
    await mkdir(left)
    await writeFile(join(left, 'mail.db'), 'a part of it')
  }
  await mkdir(join(folder, 'restore-asked'))
  await directory.beginRestore({
    accountId,
    generation: 'one',
    state: 'asked',
    staged: 'restore-asked',
    replaced: 'replaced-one',
    cipher: null,
    requestedAtMs: host.clock.nowMs()
  })
  assert.deepEqual((await host.backUp()).failed, [])
  await rm(join(folder, 'restore-asked'), { recursive: true })
  assert.deepEqual(await names(), before)
})

test('a second backup of mailboxes that nobody opened stores nothing and reads nothing', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 50)
  const first = await host.backUp()
  let seen = { bytes: 0, bytesTotal: 0, bytesRead: 0 }
  host.clock.advance(1000)
  const second = await runBackup({
    ...host.services,
    target: host.target,
    onProgress: (progress) => {
      seen = progress
    }
  })
  assert.equal(seen.bytesRead, 0)
  assert.equal(seen.bytes, seen.bytesTotal, 'what need not be read is done')
  assert.ok(seen.bytesTotal > 0)
  assert.equal(second.newBytes, 0)
  assert.equal(second.storedBytes, 0)
  assert.equal(second.sharedBytes, first.newBytes + first.sharedBytes)
})

test('of a mailbox with new messages, for each 10 MB one, less than 7 % is stored; of an unchanged one less than 1 %', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org')
  const fill = async (/** @type {number} */ count, /** @type {number} */ sizeBytes) => {
    const { account, masterKey } = await logIn(host.services, 'secret of the user')
    await withStore(host.services, account, masterKey, async (store) => {
      for (let i = 0; i < count; i++) {
        const body = randomBytes(sizeBytes).toString('base64').replace(/.{76}/g, '$&\r\n')
        const head = 'Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n'
        await appendOne(store, 'INBOX', Buffer.from(`${head}${body}\r\n`))
      }
    })
    masterKey.dispose()
  }
  await fill(60, 1_000_000)
  const first = await host.backUp()
  assert.ok(first.newBytes > 60_000_000)
  // Another mtime, so that it is read.
  await utimes(join(anna.folder, 'mail.db'), 1, 1)
  const unchanged = await host.backUp()
  assert.ok(unchanged.sharedBytes >= first.newBytes)
  assert.ok(unchanged.newBytes + unchanged.storedBytes < first.newBytes * 0.01)
  await fill(6, 12_000)
  const { newBytes } = await host.backUp()
  assert.ok(newBytes > 0 && newBytes < first.newBytes * 0.07, `${newBytes} of ${first.newBytes}`)
})

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

test('a mailbox that a command keeps open for a while, without answering, is waited for', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 3)
  const lock = await lockShared(anna.folder, { timeoutMs: 0 })
  const released = new Promise((resolve) => setTimeout(resolve, 2500)).then(() => lock.release())
  const summary = await host.backUp()
  await released
  assert.deepEqual(summary.failed, [])
})

test('mail that waits in the spool is in it, and what was set aside', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org')
  const spoolFolder = join(anna.folder, 'spool')
  const { name } = await writeSpoolFile({
    spoolFolder,
    publicKey: anna.sealPublicKey,
    envelope: { recipient: anna.address, sender: 'x@example.net', receivedAtMs: 1 },
    message: [Buffer.from('Subject: waits\r\n\r\nbody\r\n')]
  })
  const aside = `${'a'.repeat(32)}.sealed`
  await mkdir(join(spoolFolder, 'aside'))
  await writeFile(join(spoolFolder, 'aside', aside), 'does not open')
  const { generation } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(generation)
  const [entry] = accounts
  assert.ok(entry)
  const { files } = await readSnapshot(host.target, entry.snapshot)
  assert.deepEqual(
    files.map(({ path }) => path),
    [`spool/${name}`, `spool/aside/${aside}`, 'mail.db']
  )
})

test('the directory is sealed, holds no key, and each account’s keys lie by themselves', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org')
  const { generation: name } = await host.backUp()
  const generation = await host.repository.readGeneration(name)
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const sealed = await host.target.get(generation.directory)
  assert.ok(sealed)
  const path = join(host.data, 'opened.db')
  await writeFile(path, await recoveryKey.open(sealed))
  const db = new Database(path)
  for (const table of ['credentials', 'seal_identities', 'rekeys'])
    assert.equal(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), 0, table)
  assert.equal(db.prepare('SELECT address FROM accounts').pluck().get(), 'anna@example.org')
  db.close()
  const [credential] = await host.services.directory.listCredentials(anna.id)
  assert.ok(credential)
  assert.equal((await readFile(path)).includes(credential.wrappedKey), false)

  const [entry] = generation.accounts
  assert.ok(entry)
  const keys = await openKeys(host.target, entry, recoveryKey)
  assert.deepEqual(keys?.rows.credentials.map(({ kind }) => kind).sort(), ['password', 'recovery'])
  const found = await findInSealedDirectory({
    target: host.target,
    generation,
    recoveryKey,
    address: 'anna@example.org',
    scratchFile: path,
    dataFolder: host.data,
    clock: host.clock,
    logger: host.services.logger
  })
  assert.equal(found?.account.id, anna.id)
})

test('a rekey between two backups brings the new keys and the new file together', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 5)
  await host.backUp()
  const password = Buffer.from('secret of the user')
  await rekeyAccount({ services: host.services, account: anna, password })
  const { generation } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(generation)
  assert.equal(accounts[0]?.keyEpoch, 2)
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

test('a backup of a night on which the clock was years ahead is not taken for the last one', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 1)
  await host.backUp()
  host.clock.advance(3650 * DAY_MS)
  const { generation: future } = await host.backUp()
  host.clock.advance(-3650 * DAY_MS)
  await host.addMessages('anna@example.org', 20, 20_000)
  assert.ok((await host.backUp()).newBytes > 0)
  // It builds on the one of the hour before, not on the one of ten years later.
  const { generation: last, newBytes } = await host.backUp()
  assert.equal(newBytes, 0)
  const nowMs = host.clock.nowMs()
  assert.equal((await chooseGeneration(host.repository, { nowMs })).name, last)
  const { directory } = host.services
  const backups = createBackupList({ config: host.config, directory, clock: host.clock })
  const { generations } = await backups.list()
  assert.deepEqual([generations[0]?.name, generations.at(-1)?.name], [last, future])
  // Where the clock is years behind, all are of the future, and the last of them is the last.
  assert.equal((await chooseGeneration(host.repository, { nowMs: 0 })).name, future)
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
  const summary = await host.backUp()
  assert.equal(summary.newBytes, 0)
  assert.equal(await host.repository.readPartial(), null)
})
