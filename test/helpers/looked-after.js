/**
 * A mailbox with a worker of maintenance that looks after it, over the real directory.
 */
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { OpenAccounts } from '../../src/accounts/open-accounts.js'
import { systemResources } from '../../src/maintenance/resources.js'
import { runJobs } from '../../src/maintenance/run-jobs.js'
import { MaintenanceWorker } from '../../src/maintenance/worker.js'
import { appendMany, appendOne } from './account-folder.js'
import { logIn, makeAccount, openTestAccounts } from './accounts.js'

/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [settings]
 * @param {Partial<import('../../src/maintenance/resources.js').Resources>} [resources]
 */
export async function setUp(t, settings = {}, resources = {}) {
  /** @type {(() => Promise<void>)[]} */
  const closers = []
  // Registered before the folder's removal.
  t.after(async () => {
    for (const close of closers) await close()
  })
  const accounts = await openTestAccounts(t, {
    'accounts.lingerMs': 0,
    'maintenance.closeBudgetMs': 3_600_000,
    ...settings
  })
  // No time limits: a job may be slow here, and nobody waits for its lock or for the mailbox.
  t.mock.method(AbortSignal, 'timeout', () => new AbortController().signal)
  const { services } = accounts
  const { account } = await makeAccount(services)
  const worker = new MaintenanceWorker({
    services,
    resources: { ...systemResources, ...resources }
  })
  let lockings = 0
  const lockedAgain = new EventEmitter()
  const openAccounts = new OpenAccounts({
    services,
    maintenance: worker,
    onLocked: () => {
      lockings++
      lockedAgain.emit('locked')
    },
    endSessions: () => {}
  })
  closers.push(
    () => worker.close(),
    () => openAccounts.close()
  )
  const enter = async () => openAccounts.acquire(await logIn(services, 'old secret'))
  const runs = async () => {
    await services.directory.flush()
    return services.directory.listMaintenanceRuns({ accountId: account.id })
  }
  const run = (/** @type {AccountStore} */ store) =>
    runJobs({
      services,
      account,
      store,
      resources: { ...systemResources, ...resources },
      signal: new AbortController().signal
    })
  // Resolves once the mailbox has been closed so many times, and the work that follows a close is done.
  const locked = async (times = 1) => {
    for (let rest = times - lockings; rest > 0; rest--) await once(lockedAgain, 'locked')
  }
  return { ...accounts, account, worker, openAccounts, enter, runs, run, locked }
}

/**
 * @param {AccountStore} store
 * @param {number} count - of 200 kB each
 */
export async function fillAndEmpty(store, count) {
  const head = Buffer.from('Subject: x\r\nContent-Type: application/octet-stream\r\n\r\n')
  for (let i = 0; i < count; i++)
    await appendOne(store, 'INBOX', Buffer.concat([head, randomBytes(200_000)]), ['\\Deleted'])
  await appendMany(store, 'INBOX', 3)
  const { view } = await store.openView('INBOX')
  await store.expunge({ view, uids: null })
  // The messages are long: a reader might still be in the middle of one.
  await store.upkeep.forgetReaders()
  store.closeView(view)
}

/** @param {import('../../src/accounts/directory-port.js').MaintenanceRun[]} runs */
export const results = (runs) => Object.fromEntries(runs.map(({ job, result }) => [job, result]))
