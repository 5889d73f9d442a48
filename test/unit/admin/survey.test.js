import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdirSync, statSync } from 'node:fs'
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { HostSurvey } from '../../../src/admin/survey.js'
import { makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { runWithFewDescriptors } from '../../helpers/few-descriptors.js'
import { createAccounts, scratchFolder } from '../../helpers/process.js'

test('a survey counts spools, what was set aside, and mailbox files that are gone or cut off', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { directory, clock, logger } = services
  const anna = (await makeAccount(services)).account
  const ben = (await makeAccount(services, 'ben@example.org')).account
  const clara = (await makeAccount(services, 'clara@example.org')).account
  await mkdir(join(anna.folder, 'spool', 'aside'), { recursive: true })
  await writeFile(join(anna.folder, 'spool', 'a.sealed'), 'x'.repeat(100))
  await writeFile(join(anna.folder, 'spool', 'aside', 'b.sealed'), 'x')
  await utimes(join(anna.folder, 'spool', 'a.sealed'), 5, 5)
  await rm(join(ben.folder, 'mail.db'))
  await writeFile(join(clara.folder, 'mail.db'), 'x'.repeat(5000))
  const open = new Set([anna.id])
  const whichAreOpen = async (/** @type {string[]} */ ids) => ids.filter((id) => open.has(id))
  const survey = new HostSurvey({ data, directory, whichAreOpen, clock, logger })
  const first = await survey.look()
  assert.equal(first.mailboxes, 3)
  assert.equal(first.misshapen, 2)
  assert.deepEqual([...first.misshapenIds].sort(), [ben.id, clara.id].sort())
  assert.deepEqual([first.spoolFiles, first.spoolBytes, first.setAside], [1, 100, 1])
  assert.equal(first.oldestSpoolMs, 5000)
  assert.equal(first.oldestOpenSpoolMs, null, 'it may just have been opened')
  assert.equal((await survey.look()).oldestOpenSpoolMs, 5000)
  open.clear()
  assert.equal((await survey.look()).oldestOpenSpoolMs, null)
  open.add(anna.id)
  assert.equal((await survey.look()).oldestOpenSpoolMs, null, 'it was closed meanwhile')
  await survey.close()
})

test('a survey looks at every mailbox and all mail that waits, and names ten of those that are broken', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { directory, clock, logger } = services
  const accounts = []
  // More than are looked at between two pauses.
  for (let nth = 0; nth < 51; nth++) {
    accounts.push((await makeAccount(services, `user${nth}@example.org`)).account)
  }
  const [first, ...others] = accounts
  assert.ok(first)
  await mkdir(join(first.folder, 'spool'), { recursive: true })
  // More than are looked at together.
  for (let nth = 1; nth <= 40; nth++) {
    await writeFile(join(first.folder, 'spool', `${nth}.sealed`), 'x'.repeat(nth))
  }
  await writeFile(join(first.folder, 'spool', 'half.tmp'), 'x')
  // As one that is taken in between the two looks at it.
  await symlink('nowhere', join(first.folder, 'spool', 'taken.sealed'))
  for (const { folder } of others.slice(0, 11)) await writeFile(join(folder, 'mail.db'), '')
  for (const { folder } of others.slice(11, 22)) {
    await rm(join(folder, 'spool'), { recursive: true, force: true })
    await writeFile(join(folder, 'spool'), '')
  }
  const whichAreOpen = async () => []
  const survey = new HostSurvey({ data, directory, whichAreOpen, clock, logger })
  const look = await survey.look()
  assert.deepEqual([look.mailboxes, look.misshapen, look.unreadable], [51, 11, 11])
  assert.deepEqual([look.misshapenIds.length, look.unreadableIds.length], [10, 10])
  assert.deepEqual([look.spoolFiles, look.spoolBytes], [40, 820])
  await survey.close()
})

test('a survey sums up write-ahead logs, and finds the largest and the oldest wherever they are', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { directory, clock, logger } = services
  const whichAreOpen = async (/** @type {string[]} */ ids) => ids
  const ages = [7, 5, 9, 8, 6]
  for (const [nth, seconds] of ages.entries()) {
    const { account } = await makeAccount(services, `user${nth}@example.org`)
    await writeFile(join(account.folder, 'mail.db-wal'), 'x'.repeat(1000 - 100 * seconds))
    await mkdir(join(account.folder, 'spool', 'aside'), { recursive: true })
    await writeFile(join(account.folder, 'spool', 'aside', 'x.sealed'), 'x')
    for (const [name, more] of /** @type {const} */ ([
      ['a', 1],
      ['b', 0],
      ['c', 1]
    ])) {
      const path = join(account.folder, 'spool', `${name}.sealed`)
      await writeFile(path, 'x')
      await utimes(path, seconds + more, seconds + more)
    }
  }
  const { account: unreachable } = await makeAccount(services, 'loop@example.org')
  await rm(join(unreachable.folder, 'mail.db'))
  await symlink('mail.db', join(unreachable.folder, 'mail.db'))
  await directory.flush()
  const survey = new HostSurvey({ data, directory, whichAreOpen, clock, logger })
  await survey.look()
  const look = await survey.look()
  assert.deepEqual([look.walBytes, look.largestWalBytes], [1500, 500])
  assert.deepEqual([look.oldestSpoolMs, look.oldestOpenSpoolMs, look.setAside], [5000, 5000, 5])
  assert.equal(look.directoryWalBytes, statSync(join(data, 'directory.db-wal')).size)
  assert.ok(look.directoryWalBytes > 0)
  assert.deepEqual([look.misshapenIds, look.unreadableIds], [[], [unreachable.id]])
  await survey.close()
})

test('a survey counts a damaged mailbox, however many jobs of others have failed more often', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { directory, clock, logger } = services
  const anna = (await makeAccount(services)).account
  const ben = (await makeAccount(services, 'ben@example.org')).account
  const failing = { doneAtMs: 0, failures: 2, failedCode: 'DISK_FULL', nextTryAtMs: 0 }
  for (let nth = 0; nth < 1001; nth++)
    directory.recordMaintenance({
      accountId: anna.id,
      job: `job ${nth}`,
      state: failing,
      run: null
    })
  const failures = { failures: 1, failedCode: 'ACCOUNT_DAMAGED' }
  for (const job of ['quick-check', 'vacuum'])
    directory.recordMaintenance({
      accountId: ben.id,
      job,
      state: { ...failing, ...failures },
      run: null
    })
  await directory.flush()
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  const { damaged, damagedIds } = await survey.look()
  assert.deepEqual([damaged, damagedIds], [1, [ben.id]])
  await survey.close()
})

test('a survey names no mailbox that is deleted, or whose files change places, while it looks', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { directory, clock, logger } = services
  const anna = (await makeAccount(services)).account
  const ben = (await makeAccount(services, 'ben@example.org')).account
  await directory.beginRestore({
    accountId: ben.id,
    generation: '2026-11-20T03-14-07Z',
    state: 'switching',
    staged: 'staged',
    replaced: 'replaced',
    cipher: ben.cipher,
    requestedAtMs: clock.nowMs()
  })
  await rm(join(ben.folder, 'mail.db'))
  const { pageFolders } = directory
  const pages = async (/** @type {{ afterId: string, limit: number }} */ page) => {
    const folders = await pageFolders(page)
    await deleteAccount({ services, account: anna })
    return folders
  }
  t.mock.method(directory, 'pageFolders', pages, { times: 1 })
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  const { misshapenIds, unreadableIds } = await survey.look()
  assert.deepEqual([misshapenIds, unreadableIds], [[], []])
  await survey.close()
})

test('what a look has found is believed no longer once the next one hangs, until that is over', async (t) => {
  const { services, data, clock } = await openTestAccounts(t)
  const { directory, logger } = services
  await makeAccount(services)
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  const first = await survey.look()
  clock.advance(3_600_000)
  assert.equal(await survey.readCurrent(), first, 'no look is under way')
  const answer = Promise.withResolvers()
  const asked = Promise.withResolvers()
  const { pageFolders } = directory
  const hanging = async (/** @type {{ afterId: string, limit: number }} */ page) => {
    asked.resolve(undefined)
    await answer.promise
    return await pageFolders(page)
  }
  t.mock.method(directory, 'pageFolders', hanging, { times: 1 })
  const looking = survey.look()
  await asked.promise
  clock.advance(5 * 60_000)
  assert.equal(await survey.readCurrent(), first)
  clock.advance(1)
  await assert.rejects(survey.readCurrent(), /no further for 300001 ms/)
  assert.equal(await survey.read(), first, 'figures are told with their age')
  answer.resolve(undefined)
  const second = await looking
  clock.advance(3_600_000)
  assert.equal(await survey.readCurrent(), second)
  await survey.close()
})

test('a look that goes on does not hang, however long it takes', async (t) => {
  const { services, data, clock } = await openTestAccounts(t)
  const { directory, logger } = services
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  const first = await survey.look()
  let pages = 0
  const slow = async () => {
    assert.equal(await survey.readCurrent(), first)
    clock.advance(4 * 60_000)
    return ++pages > 3
      ? []
      : Array.from({ length: 50 }, (_, nth) => ({ id: `${pages}-${nth}`, folder: `${nth}` }))
  }
  t.mock.method(directory, 'pageFolders', slow)
  await survey.look()
  assert.equal(pages, 4)
  await survey.close()
})

const url = (/** @type {string} */ file) => new URL(`../../../${file}`, import.meta.url).href

/** Surveys a data folder, again with no descriptor left, and again with all; says what came of it. */
const SCRIPT = `
  import { loadConfig } from '${url('config/load.js')}'
  import { openAccountServices } from '${url('src/accounts/services.js')}'
  import { HostSurvey } from '${url('src/admin/survey.js')}'
  import { systemClock as clock } from '${url('src/support/clock.js')}'
  import { createLogger } from '${url('src/telemetry/logger.js')}'
  import { takeDescriptors } from '${url('test/helpers/few-descriptors.js')}'
  const data = process.argv[1]
  const logger = createLogger({ level: 'silent' })
  const services = await openAccountServices({ config: loadConfig({ settings: { data } }), clock, logger })
  const { directory } = services
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  const outcome = async (work) => {
    try {
      const { mailboxes, unreadable } = await work()
      return { mailboxes, unreadable }
    } catch ({ code }) {
      return code
    }
  }
  const outcomes = [await outcome(() => survey.look())]
  const release = takeDescriptors(0)
  outcomes.push(await outcome(() => survey.look()), await outcome(() => survey.readCurrent()))
  release()
  outcomes.push(await outcome(() => survey.look()))
  await services.close()
  process.stdout.write(JSON.stringify(outcomes))`

test('a process without descriptors takes no mailbox for unreadable, and knows what it knew of the disk', async (t) => {
  const data = join(scratchFolder(t, 'survey'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['anna@example.org', 'ben@example.org'])
  const all = { mailboxes: 2, unreadable: 0 }
  assert.deepEqual(JSON.parse(await runWithFewDescriptors(SCRIPT, [data])), [
    all,
    'EMFILE',
    all,
    all
  ])
})
