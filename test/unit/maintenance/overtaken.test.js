/**
 * Work on a closed mailbox whose keys are changed, or whose account is deleted, before it has the file to itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { isMailError } from '../../../src/errors.js'
import { planAlone } from '../../../src/maintenance/alone.js'
import { maintainAccount } from '../../../src/maintenance/maintain-account.js'
import { systemResources } from '../../../src/maintenance/resources.js'
import { appendOne } from '../../helpers/account-folder.js'
import { logIn, makeAccount, openTestAccounts, withStore } from '../../helpers/accounts.js'

/** @typedef {Omit<Parameters<typeof rekeyAccount>[0], 'password'>} Overtaken */

/** @type {[string, (overtaken: Overtaken) => Promise<unknown>, import('../../../src/errors.js').ErrorCode][]} */
const EVENTS = [
  [
    'a rekey',
    (overtaken) => rekeyAccount({ ...overtaken, password: Buffer.from('old secret') }),
    'BUSY'
  ],
  ['a deletion', deleteAccount, 'ACCOUNT_NOT_FOUND']
]

for (const [name, overtake, code] of EVENTS) {
  test(`a compaction that ${name} overtakes does not call the mailbox damaged`, async (t) => {
    const { services } = await openTestAccounts(t)
    await makeAccount(services)
    const unlocked = await logIn(services, 'old secret')
    const { account, masterKey } = unlocked
    const resources = {
      ...systemResources,
      freeDiskBytes: async (/** @type {string} */ folder) => {
        const bytes = await systemResources.freeDiskBytes(folder)
        await overtake({ services, account })
        return bytes
      }
    }
    const request = { services, account, masterKey, resources, isCompacted: true, onRun: () => {} }
    await assert.rejects(maintainAccount(request), (error) => isMailError(error, code))
    masterKey.dispose()
  })

  test(`a job for a closed mailbox that ${name} overtakes is stopped, without an alarm`, async (t) => {
    const { services, lines } = await openTestAccounts(t)
    await makeAccount(services)
    const { account, masterKey } = await logIn(services, 'old secret')
    /** @type {import('../../../src/accounts/directory-port.js').MaintenanceRun[]} */
    const runs = []
    const onRun = (/** @type {any} */ run) => runs.push(run)
    const work = await withStore(services, account, masterKey, async (store) => {
      const message = Buffer.from('A: 1\r\n\r\nx')
      for (let number = 0; number < 40; number++)
        await appendOne(store, 'INBOX', message, [`k${number}`])
      const resources = systemResources
      return await planAlone({ services, account, store, resources, isForced: true, onRun })
    })
    masterKey.dispose()
    await overtake({ services, account })
    await work?.(new AbortController().signal)
    assert.deepEqual(
      runs.map(({ job, result, note }) => [job, result, note]),
      [['keywords', 'stopped', code]]
    )
    await services.directory.flush()
    const actions = (await services.directory.pageAudit({ limit: 100 })).map(({ action }) => action)
    assert.equal(actions.includes('mailbox-alert'), false)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      []
    )
  })
}
