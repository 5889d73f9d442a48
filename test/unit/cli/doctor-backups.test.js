/**
 * What `letterlock doctor` says of backups.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, cpSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3-multiple-ciphers'
import { checkBackup } from '../../../src/admin/health.js'
import { createBackupList } from '../../../src/backup/backup-list.js'
import { initBackups } from '../../../src/backup/init.js'
import { Repository } from '../../../src/backup/repository.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { checkBackups } from '../../../src/cli/doctor/backups.js'
import { openBackupHost } from '../../helpers/backup.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Has all who wait for a pipe go on, and nobody find it any more: this process would not end before. The one that waits may
 * not have come to open it yet, and a writer that came and went before is none to it.
 *
 * @param {string} pipe
 */
async function letGo(pipe) {
  const apart = `${pipe}-apart`
  renameSync(pipe, apart)
  while (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) {
    closeSync(openSync(apart, 'r+'))
    await sleep(1)
  }
}

test('backups that are missing, late or on the disk of the mail are named', async (t) => {
  const { services, config, clock, backUp, addAccount } = await openBackupHost(t)
  await addAccount('anna@example.org')
  assert.equal((await checkBackups({ services })).text, 'None was made yet')
  await backUp()
  // Below the system's temporary folder are both, in folders that have nothing in common but that.
  const { status, text } = await checkBackups({ services })
  assert.equal(status, 'warn')
  assert.equal(text, 'The last of 1 is 0 hours old, on the same disk as the mail')
  const db = new Database(join(config.data, 'directory.db'))
  db.exec("DELETE FROM audit WHERE action = 'backup'")
  db.close()
  assert.match((await checkBackups({ services })).text, /no record of how it went$/)
  clock.advance(2 * DAY_MS)
  const late = await checkBackups({ services })
  assert.equal(late.status, 'fail')
  assert.equal(late.text, 'The last of 1 is 48 hours old')
})

test('backups that are made once a week are late after a week', async (t) => {
  const settings = { 'backup.cron': '0 3 * * SUN' }
  const { services, config, clock, backUp, addAccount } = await openBackupHost(t, settings)
  await addAccount('anna@example.org')
  clock.advance(Date.UTC(2026, 0, 4, 2, 10) - clock.nowMs())
  await backUp()
  const list = createBackupList({ config, directory: services.directory, clock })
  const states = async () => [
    (await checkBackups({ services })).status,
    checkBackup(await list.list(), clock.nowMs()).status
  ]
  clock.advance(7 * DAY_MS)
  assert.deepEqual(await states(), ['warn', 'ok'])
  clock.advance(DAY_MS / 2)
  assert.deepEqual(await states(), ['fail', 'warn'])
  clock.advance(2 * DAY_MS)
  assert.deepEqual(await states(), ['fail', 'fail'])
})

test('a disk of backups that is gone, has lost them, or has those of another host, fails', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org')
  await host.backUp()
  const { services, config, clock, folder } = host
  const list = createBackupList({ config, directory: services.directory, clock })
  const states = async () => [
    (await checkBackups({ services })).status,
    checkBackup(await list.list(), clock.nowMs()).status
  ]
  const lost = join(folder, 'generations')
  renameSync(lost, `${lost}-lost`)
  assert.deepEqual(await states(), ['fail', 'fail'])
  // Whoever runs another one first loses to the next prune what these need.
  assert.match((await checkBackups({ services })).text, /bring generations\/ back before the next/)
  renameSync(`${lost}-lost`, lost)
  const away = `${folder}-unmounted`
  renameSync(folder, away)
  t.after(() => rmSync(away, { recursive: true }))
  mkdirSync(folder)
  assert.deepEqual(await states(), ['fail', 'fail'])
  assert.match((await checkBackups({ services })).text, /holds no backups of this host/)
  // A new disk in the place of the one that is gone has lost nothing.
  clock.advance(DAY_MS)
  const repository = new Repository(openFolderTarget(folder))
  await initBackups({ data: config.data, repository, clock, showKey: () => {} })
  assert.deepEqual(await states(), ['warn', 'warn'])
  assert.equal((await checkBackups({ services })).text, 'None was made yet')
  const other = await openBackupHost(t)
  cpSync(other.folder, folder, { recursive: true })
  assert.deepEqual(await states(), ['fail', 'fail'])
  assert.match(
    (await checkBackups({ services })).text,
    /^They are not as they should be: .* holds the backups of another host$/
  )
})

test('a place of backups that does not answer is told as such', async (t) => {
  const { services, folder } = await openBackupHost(t)
  const marker = join(folder, 'letterlock-backup.json')
  rmSync(marker)
  execFileSync('mkfifo', [marker])
  // Whoever opens it to read waits for somebody who writes, as for a share whose server is away.
  const finding = await checkBackups({ services, patienceMs: 5 }).finally(() => letGo(marker))
  assert.equal(finding.status, 'fail')
  assert.equal(finding.text, 'Their place cannot be read: no answer for 0 seconds')
})

test('backups on another disk are well', { skip: smallDiskIsMissing }, async (t) => {
  const { services, config, folder, backUp } = await openBackupHost(t)
  await backUp()
  const elsewhere = join(smallDisk(t, 16 * 1024 * 1024).root, 'backups')
  cpSync(folder, elsewhere, { recursive: true })
  const moved = { ...config, backup: { ...config.backup, folder: elsewhere } }
  const finding = await checkBackups({ services: { ...services, config: moved } })
  assert.deepEqual(
    { status: finding.status, text: finding.text },
    { status: 'ok', text: 'The last of 1 is 0 hours old' }
  )
})
