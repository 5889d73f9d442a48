import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { MailError } from '../../../src/errors.js'
import { repairAccount } from '../../../src/maintenance/repair-account.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'

test('a repair that is done says what it has saved, also where the directory has no room for a word about it', async (t) => {
  const { services } = await openTestAccounts(t)
  await makeAccount(services)
  const { account, masterKey } = await logIn(services, 'old secret')
  const flush = async () => {
    throw new MailError('DISK_FULL')
  }
  const full = { ...services, directory: { ...services.directory, flush } }
  const { report, keptFile } = await repairAccount({ services: full, account, masterKey })
  masterKey.dispose()
  assert.equal(report.salvaged, 0)
  assert.ok(existsSync(keptFile))
})

test('nothing that was found of the damaged file is on record of the repaired one', async (t) => {
  const { services } = await openTestAccounts(t)
  await makeAccount(services)
  const { account, masterKey } = await logIn(services, 'old secret')
  const { directory } = services
  const damaged = { doneAtMs: 1, failures: 2, failedCode: 'ACCOUNT_DAMAGED', nextTryAtMs: 2 }
  for (const job of ['quick-check', 'optimize', 'cipher'])
    directory.recordMaintenance({ accountId: account.id, job, state: damaged, run: null })
  await repairAccount({ services, account, masterKey })
  masterKey.dispose()
  const { jobs } = await directory.findMaintenance(account.id)
  assert.deepEqual([...jobs.keys()], ['quick-check'])
  assert.equal((await directory.listMaintenanceFailures()).failingTotal, 0)
})
