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
