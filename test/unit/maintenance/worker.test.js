/**
 * The worker over real mailboxes: what it does, when it gives way, and what it leaves on record.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { MailError } from '../../../src/errors.js'
import { DAY_MS } from '../../../src/maintenance/job.js'
import { cleanLeftovers } from '../../../src/maintenance/leftovers.js'
import { systemResources } from '../../../src/maintenance/resources.js'
import { runJobs } from '../../../src/maintenance/run-jobs.js'
import { AccountStore } from '../../../src/store/account-store.js'
import { isWorthMerging } from '../../../src/store/search/index-job.js'
import { appendMany, appendOne } from '../../helpers/account-folder.js'
import { logIn, makeAccount } from '../../helpers/accounts.js'
import { fillAndEmpty, results, setUp } from '../../helpers/looked-after.js'

test('before a mailbox is locked, its free space is back, and the directory says so without a key', async (t) => {
  const { enter, runs, services, account, locked } = await setUp(t)
  const session = await enter()
  await fillAndEmpty(session.store, 20)
  await session.store.checkpoint()
  const path = join(account.folder, 'mail.db')
  const before = statSync(path).size
  await session.release()
  await locked()
  assert.ok(statSync(path).size < before / 4)
  const told = await runs()
  assert.equal(results(told)['vacuum'], 'done')
  const vacuum = told.find(({ job }) => job === 'vacuum')
  assert.match(vacuum?.why ?? '', /^free \d\d %$/)
  assert.ok(Number(vacuum?.before['freeBytes']) > 3_000_000)
  assert.equal(vacuum?.after['freeBytes'], 0)
  const [summary] = await services.directory.listMaintenance()
  assert.equal(summary?.address, 'anna@example.org')
  assert.equal(summary?.freeBytes, 0)
  assert.equal(summary?.failingJobs, 0)
})

test('an open mailbox is looked after when it is quiet, as often as there is something to do', async (t) => {
  const { enter, runs } = await setUp(t, { 'maintenance.quietMs': 0 })
  const { store } = await enter()
  await fillAndEmpty(store, 8)
  // The worker looks every five seconds.
  for (let i = 0; i < 1200 && results(await runs())['vacuum'] !== 'done'; i++) await sleep(100)
  assert.equal(results(await runs())['vacuum'], 'done')
  assert.equal((await store.upkeep.readSpace()).freePages, 0)
})

test('the search index is written anew when a fifth of much or half of little has gone', () => {
  for (const [indexedCount, deletedCount, isWorth] of /** @type {const} */ ([
    [0, 0, false],
    [49, 49, false],
    [60, 50, true],
    [200, 99, false],
    [200, 100, true],
    [4000, 999, false],
    [4000, 1000, true],
    [10_000, 1999, false],
    [10_000, 2000, true]
  ]))
    assert.equal(isWorthMerging({ textVersion: 1, indexedCount, deletedCount }), isWorth)
})

test('after a large expunge the search index gives its room back too, and says why', async (t) => {
  const { enter, run } = await setUp(t)
  const { store } = await enter()
  const words = (/** @type {number} */ from) =>
    Array.from({ length: 80 }, (_, i) => ((from + i) * 2_654_435_761).toString(36)).join(' ')
  for (let i = 0; i < 1100; i++)
    await appendOne(store, 'INBOX', Buffer.from(`Subject: ${i}\r\n\r\n${words(i * 80)}\r\n`), [
      '\\Deleted'
    ])
  await appendOne(store, 'INBOX', Buffer.from('Subject: kept\r\n\r\nkept\r\n'))
  await store.indexSearch()
  const indexBytes = () =>
    store.searchAccess.database.read((db) =>
      Number(db.prepare('SELECT sum(length(data)) FROM search_blocks').pluck().get())
    )
  const before = await indexBytes()
  const { view } = await store.openView('INBOX')
  await store.expunge({ view, uids: null })
  const told = await run(store)
  const index = told.find(({ job }) => job === 'search-index')
  assert.equal(index?.why, '1100 contents have gone')
  assert.equal(index?.result, 'done')
  assert.equal(index?.after['deleted'], 0)
  assert.ok((await indexBytes()) < before / 10)
  // The pages that became free by it went back in the same run.
  assert.equal(results(told)['vacuum'], 'done')
  assert.equal((await store.upkeep.readSpace()).freePages, 0)
  assert.deepEqual(
    (await run(store)).map(({ job }) => job).filter((job) => job === 'search-index'),
    []
  )
  assert.deepEqual((await store.verify()).problems, [])
})

test('a mailbox with more content than VACUUM may take gives its pages back in slices', async (t) => {
  const { enter, run } = await setUp(t, { 'maintenance.vacuumMaxBytes': 1 })
  const { store } = await enter()
  await fillAndEmpty(store, 8)
  const done = results(await run(store))
  assert.equal(done['vacuum'], undefined)
  assert.equal(done['release'], 'done')
  assert.equal((await store.upkeep.readSpace()).freePages, 0)
})

for (const [what, resources] of /** @type {const} */ ([
  ['too little memory', { freeMemoryBytes: () => 1000 }],
  ['too little room on the disk', { freeDiskBytes: async () => 1000 }]
]))
  test(`with ${what} VACUUM is skipped and says so; slices give the space back`, async (t) => {
    const { enter, run, runs, services, account } = await setUp(t, {}, resources)
    const { store } = await enter()
    await fillAndEmpty(store, 8)
    assert.equal(results(await run(store))['release'], 'done')
    const skipped = (await runs()).find(({ job }) => job === 'vacuum')
    assert.equal(skipped?.result, 'skipped')
    assert.equal(skipped?.note, what)
    const { jobs } = await services.directory.findMaintenance(account.id)
    assert.ok(Number(jobs.get('vacuum')?.nextTryAtMs) > services.clock.nowMs())
    assert.equal(jobs.get('vacuum')?.failures, 0)
  })

test('daily jobs run once a day, and those asked for at the next occasion', async (t) => {
  const { enter, run, clock, services, account } = await setUp(t)
  const { store } = await enter()
  const names = async () => (await run(store)).map(({ job }) => job)
  await appendMany(store, 'INBOX', 3)
  await store.indexSearch()
  assert.ok(!(await names()).includes('optimize'))
  clock.advance(2 * DAY_MS)
  assert.ok((await names()).includes('optimize'))
  assert.ok(!(await names()).includes('optimize'))
  assert.equal(await services.directory.requestMaintenance(null), 1)
  assert.ok((await services.directory.listMaintenanceRequests([account.id])).has(account.id))
  const asked = await names()
  assert.ok(asked.includes('optimize') && asked.includes('quick-check'))
  assert.equal((await services.directory.listMaintenanceRequests([account.id])).size, 0)
})

test('a job that fails is counted, told and tried again later; the others go on', async (t) => {
  const { enter, services, account, runs, clock, lines } = await setUp(t)
  const { store } = await enter()
  let shouldFail = true
  let tries = 0
  /** @type {import('../../../src/maintenance/job.js').MaintenanceJob[]} */
  const jobs = [
    {
      name: 'breaks',
      intervalMs: () => 0,
      run: async () => {
        tries++
        if (shouldFail) throw new Error('unexpected')
        return { result: 'done' }
      }
    },
    { name: 'works', intervalMs: () => 0, run: async () => ({ result: 'done' }) }
  ]
  const { signal } = new AbortController()
  const request = { services, account, store, resources: systemResources, signal, jobs }
  assert.deepEqual(results(await runJobs(request)), { breaks: 'failed', works: 'done' })
  await runJobs(request)
  assert.equal(tries, 1, 'not before its time')
  await runs()
  const { failing, failingTotal } = await services.directory.listMaintenanceFailures()
  assert.equal(failingTotal, 1)
  assert.equal(failing[0]?.job, 'breaks')
  assert.equal(failing[0]?.code, 'UNEXPECTED')
  assert.ok(lines.some((line) => JSON.stringify(line).includes('maintenance failed')))
  shouldFail = false
  clock.advance(10 * 60_000)
  assert.equal(results(await runJobs(request))['breaks'], 'done')
  await runs()
  assert.equal((await services.directory.listMaintenanceFailures()).failingTotal, 0)
})

test('a login ends what runs before the close, and the mailbox stays open', async (t) => {
  const { enter, openAccounts, runs } = await setUp(t)
  const session = await enter()
  const { store } = session
  await fillAndEmpty(store, 40)
  await session.release()
  await sleep(20)
  const again = await enter()
  assert.equal(again.store, store)
  assert.equal(openAccounts.size, 1)
  await again.store.createMailbox('still here')
  await runs()
})

test('a process that ends waits for no job', async (t) => {
  const { enter, worker, openAccounts } = await setUp(t)
  const session = await enter()
  await fillAndEmpty(session.store, 20)
  await session.release()
  await worker.close()
  await openAccounts.close()
  assert.equal(worker.figures.maintenanceRunning, 0)
})

test('mailboxes that become quiet together are looked after one by one, with others in between', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { services, openAccounts, worker } = await setUp(t, {
    'maintenance.quietMs': 0,
    'maintenance.concurrency': 1
  })
  const addresses = Array.from({ length: 12 }, (_, index) => `u${index}@example.org`)
  for (const address of addresses) await makeAccount(services, address, 'old secret')
  const enterAll = async () => {
    const sessions = []
    for (const username of addresses)
      sessions.push(await openAccounts.acquire(await logIn(services, 'old secret', { username })))
    return sessions
  }
  const left = () => worker.figures.maintenanceRunning + worker.figures.maintenanceWaiting
  /** @returns {Promise<number[]>} how many mailboxes were left at each turn of the event loop */
  const lookedAfter = async () => {
    t.mock.timers.tick(5000)
    const seen = []
    for (let quiet = 0; quiet < 100; quiet = left() === 0 ? quiet + 1 : 0) {
      seen.push(left())
      await turn()
    }
    return seen
  }
  const sessions = await enterAll()
  await lookedAfter()
  for (const { release } of sessions) await release()
  while (openAccounts.size > 0) await turn()
  // Everything has been done today.
  await enterAll()
  const seen = await lookedAfter()
  for (let number = 1; number < addresses.length; number++)
    assert.ok(seen.includes(number), `${number} left: ${seen.join()}`)
})

test('an open mailbox is looked after when it is quiet and there is an occasion, and not before', async (t) => {
  // What a store does by itself, a second after a write, is a write.
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const nowMs = performance.now.bind(performance)
  let aheadMs = 0
  t.mock.method(performance, 'now', () => nowMs() + aheadMs)
  const { services, account, enter, worker } = await setUp(t)
  const { store } = await enter()
  /** @returns {Promise<boolean>} whether the next look begins a run, which is then over */
  const isLookedAfter = async () => {
    t.mock.timers.tick(5000)
    let hasRun = false
    for (let quiet = 0; quiet < 100; quiet++) {
      if (worker.figures.maintenanceRunning > 0) {
        hasRun = true
        quiet = 0
      }
      await turn()
    }
    return hasRun
  }
  await store.createMailbox('first')
  assert.equal(await isLookedAfter(), false, 'it is written to')
  aheadMs += 30_000
  assert.equal(await isLookedAfter(), true, 'it is quiet')
  assert.equal(await isLookedAfter(), false, 'nothing has changed since')
  await store.createMailbox('second')
  aheadMs += 30_000
  assert.equal(await isLookedAfter(), true, 'somebody has written')
  await services.directory.requestMaintenance(account.id)
  assert.equal(await isLookedAfter(), true, 'it was asked for')
  assert.equal(await isLookedAfter(), false, 'once')
  aheadMs += 30_000
  assert.equal(await isLookedAfter(), false, 'also when it is quiet again')
  await services.directory.requestMaintenance(null)
  assert.equal(await isLookedAfter(), true, 'all were asked for')
  assert.equal(await isLookedAfter(), false, 'once')
  aheadMs += 60 * 60_000
  assert.equal(await isLookedAfter(), true, 'jobs may have fallen due')
})

test('where another process indexes the mailbox too, what is due gives way, and what was asked for is tried again', async (t) => {
  const settings = { 'maintenance.enabled': false }
  const { enter, run, services, account } = await setUp(t, settings)
  const { store } = await enter()
  await appendMany(store, 'INBOX', 3)
  let isTaken = true
  t.mock.method(store, 'indexSearch', async () => {
    isTaken = !isTaken
    if (!isTaken) throw new MailError('BUSY')
    await AccountStore.prototype.indexSearch.call(store)
  })
  const indexed = async () =>
    (await run(store)).find(({ job }) => job === 'search-index') ?? assert.fail()
  assert.equal((await indexed()).note, 'BUSY')
  isTaken = true
  await services.directory.requestMaintenance(account.id)
  const { result, before, after } = await indexed()
  assert.deepEqual(
    [result, before, after],
    ['done', { waiting: 1, deleted: 0 }, { waiting: 0, deleted: 0 }]
  )
})

test('with maintenance.enabled off nothing is looked after', async (t) => {
  const { enter, runs, locked } = await setUp(t, { 'maintenance.enabled': false })
  const session = await enter()
  await fillAndEmpty(session.store, 5)
  await session.release()
  await locked()
  assert.deepEqual(await runs(), [])
})

test('the records of an account go with it, and one that comes late does no harm', async (t) => {
  const { services, account } = await setUp(t)
  const { directory } = services
  await directory.requestMaintenance(account.id)
  await directory.deleteAccount(account.id)
  assert.deepEqual(await directory.listMaintenance(), [])
  directory.recordMaintenance({
    accountId: account.id,
    atMs: 1,
    space: { fileBytes: 1, freeBytes: 1 }
  })
  await directory.flush()
})

test('a start removes what killed deliveries, copies and repairs left, of mailboxes that nobody has open', async (t) => {
  const { services, account, enter } = await setUp(t)
  const old = join(account.folder, 'spool', 'tmp', `${'0'.repeat(32)}.sealed`)
  const copy = join(account.folder, 'mail.db.next')
  const repair = join(account.folder, 'mail.repair')
  mkdirSync(join(account.folder, 'spool', 'tmp'), { recursive: true })
  const put = () => {
    writeFileSync(old, 'x')
    utimesSync(old, 1, 1)
    writeFileSync(copy, 'x')
    mkdirSync(repair, { recursive: true })
    writeFileSync(join(repair, 'mail.db'), 'x')
  }
  put()
  assert.equal(await cleanLeftovers({ services }).done, 3)
  assert.deepEqual([old, copy, repair].filter(existsSync), [])
  const session = await enter()
  put()
  assert.equal(await cleanLeftovers({ services }).done, 1)
  assert.deepEqual([old, copy, repair].filter(existsSync), [copy, repair])
  await session.release()
})

test('what a process has left that was killed just before this one began goes once it is old enough', async (t) => {
  const { services, account, clock } = await setUp(t)
  const tmp = join(account.folder, 'spool', 'tmp')
  mkdirSync(tmp, { recursive: true })
  const [young, alive] = ['0', '1'].map((digit) => join(tmp, `${digit.repeat(32)}.sealed`))
  const write = (/** @type {string} */ path, /** @type {number} */ atMs) => {
    writeFileSync(path, 'x')
    utimesSync(path, atMs / 1000, atMs / 1000)
  }
  write(String(young), clock.nowMs() - 60_000)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { done, stop } = cleanLeftovers({ services })
  assert.equal(await done, 0)
  clock.advance(61 * 60_000)
  write(String(alive), clock.nowMs() - 60_000)
  t.mock.timers.tick(61 * 60_000)
  for (let turns = 0; turns < 1000 && existsSync(String(young)); turns++) await turn()
  assert.deepEqual(
    [young, alive].map((path) => existsSync(String(path))),
    [false, true]
  )
  await stop()
})
