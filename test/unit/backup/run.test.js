/**
 * A run of the backup: what is in it, and what it leaves behind.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { createBackupList } from '../../../src/backup/backup-list.js'
import { chooseGeneration } from '../../../src/backup/choose.js'
import { runBackup } from '../../../src/backup/run.js'
import { findInSealedDirectory, openKeys } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { readSnapshot } from '../../../src/backup/snapshot-store.js'
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
