/**
 * What an open mailbox does about its spool: when it takes mail in, and when it tries again.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { OpenSpool } from '../../../src/accounts/open-spool.js'
import { listSpool } from '../../../src/delivery/spool.js'
import { MailError } from '../../../src/errors.js'
import { openTestAccounts } from '../../helpers/accounts.js'
import { altered, setUp, textsOf } from '../../helpers/drain.js'

/** After this a drain that was stopped is tried again, ms. */
const RETRY_MS = 5_000

/** A spool is looked into after so many ms, though nobody has rung. */
const LOOK_MS = 120_000

/**
 * A spool in the folder of an account, whose timers the test turns on.
 *
 * @param {import('node:test').TestContext} t
 * @param {(store: import('../../../src/store/account-store.js').AccountStore) =>
 *   Partial<import('../../../src/delivery/drain.js').DrainStore>} [changes] - to the store
 */
async function openSpool(t, changes = () => ({})) {
  const { services } = await openTestAccounts(t)
  const place = await setUp(t)
  const { folder, store, identities } = place
  const account = { id: randomUUID(), folder }
  const spool = new OpenSpool({
    services,
    account,
    store: altered(store, changes(store)),
    identities
  })
  t.after(() => spool.close())
  return { ...place, services, account, spool }
}

/** @param {() => boolean | Promise<boolean>} isTrue */
async function until(isTrue) {
  while (!(await isTrue())) await turn()
}

test('of many files a login takes in some, and the others follow without a pause', async (t) => {
  let calls = 0
  // They may come at any moment behind the login: not before it was looked at what that took in.
  const others = Promise.withResolvers()
  const { put, spool, spoolFolder, store } = await openSpool(t, (real) => ({
    appendMessages: async (...args) => {
      if (++calls > 1) await others.promise
      return await real.appendMessages(...args)
    }
  }))
  for (const text of ['one', 'two', 'three', 'four']) await put(text)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await spool.drain({ limit: 1 })
  assert.deepEqual(await textsOf(store), ['one'])
  others.resolve(undefined)
  await until(async () => (await listSpool(spoolFolder)).length === 0)
  assert.deepEqual(await textsOf(store), ['one', 'two', 'three', 'four'])
})

test('a drain that a full disk stopped is tried again after a while, not at once', async (t) => {
  let attempts = 0
  const { put, spool, spoolFolder, store } = await openSpool(t, (real) => ({
    appendMessages: async (...args) => {
      if (++attempts === 1) throw new MailError('DISK_FULL')
      return await real.appendMessages(...args)
    }
  }))
  await put('waits')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await spool.drain()
  t.mock.timers.tick(RETRY_MS - 1)
  for (let i = 0; i < 100; i++) await turn()
  assert.equal(attempts, 1)
  t.mock.timers.tick(1)
  await until(async () => (await listSpool(spoolFolder)).length === 0)
  assert.equal(attempts, 2)
  assert.deepEqual(await textsOf(store), ['waits'])
})

test('mail comes in also where whoever stored it was killed before telling', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { put, spoolFolder, store } = await openSpool(t)
  await put('untold')
  t.mock.timers.tick(LOOK_MS)
  for (let i = 0; i < 1000 && (await listSpool(spoolFolder)).length > 0; i++) await turn()
  assert.deepEqual(await textsOf(store), ['untold'])
})

test('where a drain has failed for good, the next is that of the next mail', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let attempts = 0
  const { put, spool, store } = await openSpool(t, (real) => ({
    appendMessages: async (...args) => {
      if (++attempts === 1) throw new MailError('ACCOUNT_DAMAGED')
      return await real.appendMessages(...args)
    }
  }))
  await put('one')
  spool.ring()
  await until(() => attempts === 1)
  for (let looks = 0; looks < 3; looks++) {
    for (let i = 0; i < 100; i++) await turn()
    t.mock.timers.tick(LOOK_MS)
  }
  assert.equal(attempts, 1)
  await put('two')
  spool.ring()
  await until(async () => (await textsOf(store)).length === 2)
})

test('who closes a mailbox amid the drain of a login waits for that', async (t) => {
  const { put, spool, spoolFolder } = await openSpool(t)
  await put('waits')
  const draining = spool.drain({ limit: 200 })
  await spool.close()
  assert.deepEqual(await listSpool(spoolFolder), [])
  await draining
})

test('mail that does not open is in the audit log of the account that it was for', async (t) => {
  const { put, spool, spoolFolder, services, account, store } = await openSpool(t)
  const name = `${'0'.repeat(32)}.sealed`
  await put('first')
  writeFileSync(join(spoolFolder, name), 'not a sealed file')
  await spool.drain()
  await services.directory.flush()
  const events = await services.directory.pageAudit({ accountId: account.id, limit: 100 })
  assert.deepEqual(
    events.map(({ action, detail }) => ({ action, detail })),
    [{ action: 'spool-set-aside', detail: { name, code: 'UNSEAL_FAILED' } }]
  )
  assert.deepEqual(await textsOf(store), ['first'])
})
