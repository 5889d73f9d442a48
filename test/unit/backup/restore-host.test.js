import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { copyFile, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { loadConfig } from '../../../config/load.js'
import { runBackup } from '../../../src/backup/run.js'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { changePassword } from '../../../src/accounts/change-password.js'
import { initBackups } from '../../../src/backup/init.js'
import { createBackupList } from '../../../src/backup/backup-list.js'
import { pruneBackups } from '../../../src/backup/prune.js'
import { Repository } from '../../../src/backup/repository.js'
import { restoreHost } from '../../../src/backup/restore-host.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { takeOverBackups } from '../../../src/backup/take-over.js'
import { checkBackups } from '../../../src/cli/doctor/backups.js'
import { checkBackup } from '../../../src/admin/health.js'
import { MailError } from '../../../src/errors.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { logIn, makeAccount, openTestAccounts, tamper } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'
import { crashing, rekey } from '../../helpers/change-keys.js'
import { ANNA, PASSWORD, deliver, drain, emptyHost } from '../../helpers/restore.js'

test('a whole host comes back onto an empty folder, the original gone: every credential works', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 5)
  await host.addAccount('bob@example.org', 2)
  const carl = await makeAccount(host.services, 'carl@example.org', PASSWORD)
  const secret = Buffer.from(PASSWORD)
  const { text: appPassword } = await createAppPassword({
    services: host.services,
    account: anna,
    secret,
    label: 'phone',
    scope: 'read-write'
  })
  await deliver(anna, 'waits')
  const { generation: name } = await host.backUp()
  const folder = join(await scratchFolder(t), 'new')
  const { target, repository, clock, services } = host
  await services.close()
  await rm(host.data, { recursive: true })

  const settings = {
    data: folder,
    defaultDomain: 'example.org',
    'backup.folder': host.folder,
    'auth.argon2.memoryKiB': 19 * 1024
  }
  const config = loadConfig({ settings, environment: {} })
  const generation = await repository.readGeneration(name)
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const { logger } = services
  const options = { config, repository, generation, clock, logger }
  const other = await openBackupHost(t)
  await assert.rejects(
    restoreHost({ ...options, recoveryKey: await RecoveryKey.parse(other.recoveryKey) }),
    { code: 'RECOVERY_KEY_REJECTED' }
  )
  const pepperFile = join(dirname(folder), 'pepper of another host')
  await writeFile(pepperFile, Buffer.alloc(32, 1))
  const elsewhere = { ...config, auth: { ...config.auth, pepperFile } }
  await assert.rejects(restoreHost({ ...options, config: elsewhere, recoveryKey }), {
    code: 'RESTORE_REFUSED',
    detail: /another pepper$/
  })
  assert.equal(existsSync(folder), false)
  // Killed while it wrote the first of its files, or the last.
  await mkdir(folder)
  for (const name of ['restoring.json.41.tmp', 'pepper.42.tmp'])
    await writeFile(join(folder, name), 'half')
  // What is left of a host that has lost its directory is no empty folder.
  for (const name of ['mail', 'backup.json', 'restoring-directory.db']) {
    await mkdir(join(folder, name))
    const before = readdirSync(folder)
    await assert.rejects(restoreHost({ ...options, recoveryKey }), { code: 'RESTORE_REFUSED' })
    assert.deepEqual(readdirSync(folder), before)
    await rmdir(join(folder, name))
  }
  // A disk of its own has the one, the home of the server's user the other; backups lie in the last, by default.
  for (const name of ['lost+found', '.aws', 'backup']) await mkdir(join(folder, name))
  const summary = await restoreHost({ ...options, recoveryKey })
  assert.deepEqual(
    readdirSync(folder).filter((name) => /\.tmp$|^restoring/.test(name)),
    []
  )
  assert.deepEqual(summary, { accounts: 3, missing: [] })
  // Never over live data.
  await assert.rejects(restoreHost({ ...options, recoveryKey }), { code: 'RESTORE_REFUSED' })

  const { open } = await openTestAccounts(t)
  const restored = await open(settings)
  assert.deepEqual(
    await drain(restored, { ...anna, folder: anna.folder.replace(host.data, folder) }),
    {
      delivered: 1,
      setAside: 0,
      remaining: 0,
      stoppedBy: null
    }
  )
  assert.equal((await host.inboxOf(ANNA, restored)).count, 6)
  assert.equal((await host.inboxOf('bob@example.org', restored)).count, 2)
  ;(await logIn(restored, appPassword)).masterKey.dispose()
  const changed = await changePassword({
    services: restored,
    account: carl.account,
    oldSecret: Buffer.from(carl.recoveryCode),
    newPassword: Buffer.from('another secret of the user')
  })
  assert.match(String(changed.recoveryCode), /^llrec-/)
  const username = 'carl@example.org'
  ;(await logIn(restored, 'another secret of the user', { username })).masterKey.dispose()

  // And its backups go on in the same place, once that is its own, with nothing to store again.
  clock.advance(60 * 60 * 1000)
  assert.equal(await takeOverBackups({ data: folder, repository }), true)
  const { newBytes, failed } = await runBackup({ config, target, clock, logger })
  assert.deepEqual(failed, [])
  assert.ok(newBytes < 1_000_000)
})

test('an account that the backup has no good copy of is told, and not made without its mail', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 5)
  await host.addAccount('bob@example.org', 2)
  await rm(join(anna.folder, 'mail.db'))
  const { generation: name } = await host.backUp()
  const { missing, accounts } = await (await emptyHost(t, host)).restore(name)
  assert.equal(accounts, 1)
  assert.deepEqual(missing, [{ address: ANNA, code: 'BACKUP_MISSING' }])
})

test('a restore that broke off is gone on with; until then nothing else opens the folder', async (t) => {
  const host = await openBackupHost(t)
  const counts = { [ANNA]: 5, 'bob@example.org': 2, 'carl@example.org': 1 }
  for (const [address, count] of Object.entries(counts)) await host.addAccount(address, count)
  const { generation: older } = await host.backUp()
  const { generation: newer } = await host.backUp()
  const { settings, restore } = await emptyHost(t, host)
  const { target } = host
  const staged = join(settings.data, 'restoring-directory.db')
  const log = join(dirname(settings.data), 'log')
  let read = 0
  /** @type {typeof target} */
  const breaking = {
    ...target,
    get: async (name) => {
      if (!name.startsWith('keys/') || ++read === 1) return await target.get(name)
      if (read === 2) throw new MailError('BACKUP_DAMAGED')
      await copyFile(`${staged}-wal`, log)
      throw new MailError('BACKUP_UNREACHABLE')
    }
  }
  await assert.rejects(restore(newer, breaking), { code: 'BACKUP_UNREACHABLE' })
  const { open } = await openTestAccounts(t)
  await assert.rejects(open(settings), { code: 'RESTORE_REFUSED' })
  await assert.rejects(restore(older), { code: 'RESTORE_REFUSED' })
  // As a kill leaves them, the one while the directory is turned over to WAL mode. By the other, an account is lost.
  const journal = `${staged}-journal`
  await writeFile(journal, 'half')
  await copyFile(log, `${staged}-wal`)
  assert.deepEqual(await restore(newer), { accounts: 3, missing: [] })
  assert.equal(existsSync(journal), false)
  const restored = await open(settings)
  for (const [address, count] of Object.entries(counts))
    assert.equal((await host.inboxOf(address, restored)).count, count)
})

test('a restore that was killed when all was in place takes nothing back that was done since', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 1)
  const { generation } = await host.backUp()
  const { settings, restore } = await emptyHost(t, host)
  assert.deepEqual(await restore(generation), { accounts: 1, missing: [] })
  const mark = join(settings.data, 'restoring.json')
  await writeFile(mark, JSON.stringify({ generation }))
  const { open } = await openTestAccounts(t)
  const restored = await open(settings)
  await makeAccount(restored, 'new@example.org', PASSWORD)
  await restored.close()
  assert.deepEqual(await restore(generation), { accounts: 2, missing: [] })
  assert.equal(existsSync(mark), false)
})

test('one that is repeated while it still runs is refused, and changes nothing of the first', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 2)
  await host.addAccount('bob@example.org', 1)
  const { generation: name } = await host.backUp()
  const { settings, restore } = await emptyHost(t, host)
  const { target } = host
  /** @type {unknown[]} */
  const refusals = []
  /** @type {typeof target} */
  const amid = {
    ...target,
    get: async (object) => {
      if (object.startsWith('keys/')) refusals.push(await restore(name).catch((err) => err.code))
      return await target.get(object)
    }
  }
  assert.deepEqual(await restore(name, amid), { accounts: 2, missing: [] })
  assert.deepEqual(refusals, ['BACKUP_RUNNING', 'BACKUP_RUNNING'])
  const { open } = await openTestAccounts(t)
  const restored = await open(settings)
  assert.equal((await host.inboxOf(ANNA, restored)).count, 2)
  assert.equal((await host.inboxOf('bob@example.org', restored)).count, 1)
})

test('a directory that has lost its keys on the way does not take its place', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 1)
  const { generation: name } = await host.backUp()
  const { settings, restore } = await emptyHost(t, host)
  const { target } = host
  const staged = join(settings.data, 'restoring-directory.db')
  /** @type {typeof target} */
  const swapping = {
    ...target,
    get: async (object) => {
      if (object.startsWith('keys/')) {
        await copyFile(staged, `${staged}.of-before`)
        await rename(`${staged}.of-before`, staged)
      }
      return await target.get(object)
    }
  }
  await assert.rejects(restore(name, swapping), { code: 'DIRECTORY_DAMAGED' })
  assert.equal(existsSync(join(settings.data, 'directory.db')), false)
  assert.deepEqual(await restore(name), { accounts: 1, missing: [] })
})

test('an account that had lost its keys before the backup is told as damaged there', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 1)
  const bob = await host.addAccount('bob@example.org')
  tamper(host.data, `DELETE FROM credentials WHERE account_id = '${bob.id}'`)
  const { generation: name } = await host.backUp()
  const { restore } = await emptyHost(t, host)
  assert.deepEqual(await restore(name), {
    accounts: 1,
    missing: [{ address: 'bob@example.org', code: 'BACKUP_DAMAGED' }]
  })
})

/** A crash between the two, and the key that the mailbox file is under then. */
for (const [step, when, key] of /** @type {const} */ ([
  ['beginRekey', 'after', 'present'],
  ['finishRekey', 'before', 'next']
])) {
  test(`a rekey that had been interrupted is brought to its end on the new host: the file under the ${key} key`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 3)
    await deliver(anna, 'waits')
    await assert.rejects(rekey(crashing(host.services, step, when), anna, PASSWORD), /power/)
    const { generation: name, failed } = await host.backUp()
    assert.deepEqual(failed, [])
    const { settings, restore } = await emptyHost(t, host)
    const { missing } = await restore(name)
    assert.deepEqual(missing, [])

    const { open } = await openTestAccounts(t)
    const services = await open(settings)
    const { directory } = services
    assert.equal((await directory.findRekey(anna.id))?.accountId, anna.id)
    assert.equal((await host.inboxOf(ANNA, services)).count, 3)
    assert.equal(await directory.findRekey(anna.id), null)
    const restored = await directory.findAccount(anna.id)
    assert.equal(restored?.keyEpoch, anna.keyEpoch + (key === 'next' ? 1 : 0))
    assert.equal((await drain(services, restored ?? anna)).delivered, 1)
    assert.equal((await host.inboxOf(ANNA, services)).count, 4)
  })
}

test('a host that was restored makes no backups before it takes them over, and the first one none after', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 2)
  const { generation: name } = await host.backUp()
  const { settings, restore } = await emptyHost(t, host)
  await restore(name)
  const { open } = await openTestAccounts(t)
  const restored = await open(settings)
  const { clock, repository, target } = host
  const { data } = settings
  const { recipient = '' } = (await repository.readMarker()) ?? {}
  const showKey = () => assert.fail('no key may be made')
  const runOn = (/** @type {typeof restored} */ services) =>
    runBackup({ config: services.config, logger: services.logger, clock, target })
  const jobsOf = (/** @type {typeof restored} */ services) => [
    () => runOn(services),
    () => pruneBackups({ ...services, target }),
    () => initBackups({ data: services.config.data, repository, clock, recipient, showKey })
  ]
  const refusedOn = async (
    /** @type {typeof restored} */ services,
    /** @type {RegExp} */ words
  ) => {
    const before = await repository.listGenerations()
    for (const job of jobsOf(services))
      await assert.rejects(
        job,
        ({ code, detail }) => code === 'BACKUP_NOT_READY' && words.test(detail)
      )
    assert.deepEqual(await repository.listGenerations(), before)
    const { config, directory } = services
    const list = createBackupList({ config, directory, clock })
    const { status, text } = checkBackup(await list.list(), clock.nowMs())
    const doctor = await checkBackups({ services })
    for (const told of [{ status, text }, doctor]) {
      assert.equal(told.status, 'fail')
      assert.match(told.text, words)
    }
  }
  await refusedOn(restored, /restored from.*letterlock backup take-over/)
  assert.deepEqual((await host.backUp()).failed, [])
  assert.equal((await pruneBackups({ ...host.services, target })).dropped.length, 1)

  assert.equal(await takeOverBackups({ data, repository }), true)
  assert.equal(await takeOverBackups({ data, repository }), false)
  clock.advance(60 * 60 * 1000)
  assert.deepEqual((await runOn(restored)).failed, [])
  await refusedOn(host.services, /has taken over/)
  await pruneBackups({ ...restored, target })
})

test('a host that was restored backs up to a place of its own without taking anything over', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount(ANNA, 2)
  const { generation: name } = await host.backUp()
  const { settings, restore } = await emptyHost(t, host)
  await restore(name)
  const { clock } = host
  const { logger } = host.services
  const target = openFolderTarget(await scratchFolder(t))
  const repository = new Repository(target)
  await initBackups({ data: settings.data, repository, clock, showKey: assert.fail })
  const config = loadConfig({ settings, environment: {} })
  const runInto = async (
    /** @type {import('../../../src/backup/targets/target.js').BackupTarget} */ place
  ) => {
    clock.advance(60 * 60 * 1000)
    return (await runBackup({ config, logger, clock, target: place })).accounts
  }
  assert.equal(await runInto(target), 1)
  assert.equal((await host.backUp()).accounts, 1)

  // Where the first place takes no change, the host's own is not lost over it.
  const { data } = settings
  const readOnly = new Repository(host.target)
  readOnly.writeMarker = () => Promise.reject(new MailError('BACKUP_UNREACHABLE'))
  await assert.rejects(takeOverBackups({ data, repository: readOnly }), {
    code: 'BACKUP_UNREACHABLE'
  })
  assert.equal(await runInto(target), 1)
  // And both are its own once it has taken over.
  assert.equal(await takeOverBackups({ data, repository: host.repository }), true)
  assert.equal(await runInto(host.target), 1)
  assert.equal(await runInto(target), 1)
})
