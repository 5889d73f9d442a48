/**
 * What a run takes out of all backups: the keys of accounts that were deleted.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { verifyBackups } from '../../../src/backup/verify.js'
import { openBackupHost } from '../../helpers/backup.js'

const DAY_MS = 24 * 60 * 60 * 1000

test('the keys of a deleted account leave every backup, after the time that is set', async (t) => {
  const host = await openBackupHost(t, { 'backup.eraseDeletedAfterDays': 3 })
  const anna = await host.addAccount('anna@example.org', 3)
  await host.addAccount('bob@example.org')
  const { generation: first } = await host.backUp()
  await deleteAccount({ services: host.services, account: anna })
  await host.services.directory.flush()
  const keysFolder = join(host.folder, 'keys', anna.id)
  await host.backUp()
  assert.equal(existsSync(keysFolder) && (await readdir(keysFolder)).length, 1)
  host.clock.advance(2 * DAY_MS)
  await host.backUp()
  assert.equal((await readdir(keysFolder)).length, 1)
  host.clock.advance(DAY_MS)
  const { generation: last } = await host.backUp()
  assert.deepEqual(await readdir(keysFolder), [])
  const { accounts } = await host.repository.readGeneration(last)
  assert.deepEqual(accounts.map(({ id }) => id).includes(anna.id), false)
  // What is left of it in the first is no damage.
  const report = await verifyBackups({ repository: host.repository, generations: [first, last] })
  assert.deepEqual(report.problems, [])
})

test('a night on which the clock is years ahead erases nobody before the time', async (t) => {
  const host = await openBackupHost(t, { 'backup.eraseDeletedAfterDays': 7 })
  const anna = await host.addAccount('anna@example.org')
  await host.backUp()
  await deleteAccount({ services: host.services, account: anna })
  await host.services.directory.flush()
  const keysFolder = join(host.folder, 'keys', anna.id)
  const count = async () => (await readdir(keysFolder)).length
  host.clock.advance(3650 * DAY_MS)
  await host.backUp()
  assert.equal(await count(), 1)
  host.clock.advance(-3649 * DAY_MS)
  await host.backUp()
  assert.equal(await count(), 1)
  // One that was off for long, which looks alike at first, does it at its second run.
  host.clock.advance(100 * DAY_MS)
  await host.backUp()
  assert.equal(await count(), 1)
  await host.backUp()
  assert.equal(await count(), 0)
})

test('a run keeps the audit log for as long as the settings say, and erases whom a short one has forgotten', async (t) => {
  const long = await openBackupHost(t, { 'audit.days': 3650 })
  await long.addAccount('anna@example.org')
  await long.services.directory.flush()
  long.clock.advance(400 * DAY_MS)
  await long.backUp()
  const actions = (await long.services.directory.pageAudit({ limit: 100 })).map(
    ({ action }) => action
  )
  assert.ok(actions.includes('account-create'))

  const short = await openBackupHost(t, { 'audit.days': 1, 'backup.eraseDeletedAfterDays': 3 })
  const ben = await short.addAccount('ben@example.org')
  await short.backUp()
  await deleteAccount({ services: short.services, account: ben })
  await short.services.directory.flush()
  short.clock.advance(2 * DAY_MS)
  await short.addAccount('carl@example.org')
  await short.services.directory.flush()
  await short.backUp()
  short.clock.advance(2 * DAY_MS)
  await short.backUp()
  assert.deepEqual(await readdir(join(short.folder, 'keys', ben.id)), [])
})
