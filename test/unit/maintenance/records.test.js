/**
 * What maintenance has on record of a mailbox, and what clears it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordDamage } from '../../../src/accounts/damage.js'
import { MailError } from '../../../src/errors.js'
import { DAY_MS } from '../../../src/maintenance/job.js'
import { systemResources } from '../../../src/maintenance/resources.js'
import { runJobs } from '../../../src/maintenance/run-jobs.js'
import { results, setUp } from '../../helpers/looked-after.js'

test('damage that was met is looked at, and cleared where there is none, also where no mailbox is checked otherwise', async (t) => {
  const { enter, run, services, account } = await setUp(t, { 'maintenance.quickCheckDays': 0 })
  const { store } = await enter()
  const failures = async () => {
    await services.directory.flush()
    return (await services.directory.listMaintenanceFailures()).failing.map(({ job }) => job)
  }
  recordDamage(services, account.id)
  assert.deepEqual(await failures(), ['quick-check'])
  await run(store)
  assert.deepEqual(await failures(), [])
  assert.ok(!(await run(store)).some(({ job }) => job === 'quick-check'))
})

test('a job that failed and is switched off, or has nothing to do since, fails no longer', async (t) => {
  const { enter, run, services, account, clock } = await setUp(t, {
    'maintenance.vacuumMaxBytes': 0
  })
  const { store } = await enter()
  const failed = { doneAtMs: null, failures: 3, failedCode: 'DISK_FULL', nextTryAtMs: 1 }
  for (const job of ['vacuum', 'retention', 'cipher', 'keywords'])
    services.directory.recordMaintenance({ accountId: account.id, job, state: failed, run: null })
  clock.advance(8 * DAY_MS)
  await run(store)
  await services.directory.flush()
  assert.deepEqual((await services.directory.listMaintenanceFailures()).failing, [])
})

test('what was asked for and a failing disk has cut short is done by the next visit, but for what the disk failed at', async (t) => {
  const { enter, locked, services, account } = await setUp(t)
  const { directory } = services
  await directory.requestMaintenance(account.id)
  const damage = () => {
    throw new MailError('ACCOUNT_DAMAGED')
  }
  const visit = async () => {
    const { store } = await enter()
    /** @type {import('../../../src/maintenance/job.js').MaintenanceJob[]} */
    const jobs = [
      {
        name: 'breaks',
        intervalMs: () => 0,
        run: async () => {
          await store.searchAccess.database.write(damage)
          return { result: 'done' }
        }
      },
      { name: 'works', intervalMs: () => DAY_MS, run: async () => ({ result: 'done' }) }
    ]
    const { signal } = new AbortController()
    const runs = await runJobs({
      services,
      account,
      store,
      resources: systemResources,
      signal,
      jobs
    })
    return results(runs)
  }
  const isAskedFor = async () =>
    (await directory.listMaintenanceRequests([account.id])).has(account.id)
  assert.deepEqual(await visit(), { breaks: 'failed' })
  assert.equal(await isAskedFor(), true)
  await locked()
  // It has ended all sessions, and would end them again at each visit.
  assert.deepEqual(await visit(), { works: 'done' })
  assert.equal(await isAskedFor(), false)
})
