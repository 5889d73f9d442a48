/**
 * What maintenance does when a mailbox is closed, and who comes back meanwhile.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { deriveDatabaseKey } from '../../../src/crypto/key-derivation.js'
import { lockExclusive, lockShared } from '../../../src/database/lock.js'
import { MailError } from '../../../src/errors.js'
import { maintainAccount } from '../../../src/maintenance/maintain-account.js'
import { systemResources } from '../../../src/maintenance/resources.js'
import { MaintenanceWorker } from '../../../src/maintenance/worker.js'
import { AccountStore } from '../../../src/store/account-store.js'
import { convertCipher } from '../../../src/store/mail-file.js'
import { Upkeep } from '../../../src/store/upkeep/upkeep.js'
import { appendMany, appendOne, makeMessage } from '../../helpers/account-folder.js'
import { logIn, tamper } from '../../helpers/accounts.js'
import { fillAndEmpty, results, setUp } from '../../helpers/looked-after.js'

/** Resources by which a run of maintenance stands still when it asks for the free disk space, until it is answered. */
function heldAtDisk() {
  const { promise: isAsked, resolve: onAsked } = Promise.withResolvers()
  const { promise: isAnswered, resolve: onAnswer } = Promise.withResolvers()
  const resources = {
    freeDiskBytes: async (/** @type {string} */ folder) => {
      onAsked(undefined)
      await isAnswered
      return systemResources.freeDiskBytes(folder)
    }
  }
  return { isAsked, answer: () => onAnswer(undefined), resources }
}

test('a mailbox is closed only when its run has come to the end of its step', async (t) => {
  const { isAsked, answer, resources } = heldAtDisk()
  const { enter, worker, account, locked } = await setUp(t, {}, resources)
  const session = await enter()
  await fillAndEmpty(session.store, 8)
  await session.release()
  await isAsked
  /** @type {string[]} */
  const order = []
  const left = worker.leave(account.id).then(() => order.push('left'))
  for (let i = 0; i < 10; i++) await turn()
  assert.equal(worker.figures.maintenanceRunning, 1)
  order.push('answered')
  answer()
  await left
  assert.deepEqual(order, ['answered', 'left'])
  await locked()
})

test('a long message that was expunged goes with the last session, before the mailbox is closed', async (t) => {
  const { enter, locked, runs } = await setUp(t)
  const session = await enter()
  await appendOne(session.store, 'INBOX', makeMessage('long', 2_000_000), ['\\Deleted'])
  const { view } = await session.store.openView('INBOX')
  await session.store.expunge({ view, uids: null })
  await session.store.upkeep.sweep()
  assert.ok(!(await session.store.upkeep.hasGarbage()), 'it waits for readers')
  session.store.closeView(view)
  await session.release()
  await locked()
  assert.equal(results(await runs())['garbage'], 'done')
  const { store } = await enter()
  assert.equal((await store.verify()).contents, 0)
})

test('what a login has cut short is done when the mailbox is closed the next time', async (t) => {
  const { isAsked, answer, resources } = heldAtDisk()
  const { enter, locked, runs, worker } = await setUp(t, {}, resources)
  const session = await enter()
  await fillAndEmpty(session.store, 8)
  await session.store.indexSearch()
  await session.release()
  await isAsked
  const again = await enter()
  answer()
  while (worker.figures.maintenanceRunning > 0) await turn()
  assert.equal(results(await runs())['release'], undefined)
  await again.release()
  await locked()
  assert.equal(results(await runs())['release'], 'done')
})

/**
 * Makes it a mailbox as it is brought from elsewhere.
 *
 * @param {Awaited<ReturnType<typeof setUp>>} accounts
 */
async function makeForeign({ account: { folder }, services, data }) {
  const { masterKey } = await logIn(services, 'old secret')
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  const away = { folder, key, cipher: /** @type {const} */ ('chacha20'), timeoutMs: 5000 }
  await convertCipher({ ...away, nextCipher: 'aes256cbc' })
  tamper(data, 'UPDATE accounts SET cipher = NULL')
}

test('a mailbox in AES-256-CBC is found out, converted when it is closed, and recorded', async (t) => {
  const accounts = await setUp(t)
  const { enter, runs, account, services, locked } = accounts
  await makeForeign(accounts)
  const session = await enter()
  assert.equal(session.store.cipher, 'aes256cbc')
  await appendMany(session.store, 'INBOX', 2)
  await session.release()
  await locked()
  const again = await enter()
  assert.equal(again.store.cipher, 'chacha20')
  assert.equal((await again.store.mailboxStatus('INBOX')).messageCount, 2)
  assert.equal((await services.directory.findAccount(account.id))?.cipher, 'chacha20')
  assert.equal(results(await runs())['cipher'], 'done')
})

test('where the mailbox does not close well, no copy of its key stays all the same', async (t) => {
  const accounts = await setUp(t)
  await makeForeign(accounts)
  const { services } = accounts
  const account = await services.directory.findAccount(accounts.account.id)
  assert.ok(account)
  const copying = t.mock.method(Upkeep.prototype, 'copyKey')
  const { close } = AccountStore.prototype
  /** @this {AccountStore} */
  const closeBadly = async function () {
    await close.call(this)
    throw new MailError('NOT_DURABLE')
  }
  t.mock.method(AccountStore.prototype, 'close', closeBadly)
  const { masterKey } = await logIn(services, 'old secret')
  const resources = systemResources
  const request = { services, account, masterKey, resources, isCompacted: false, onRun: () => {} }
  await assert.rejects(maintainAccount(request), { code: 'NOT_DURABLE' })
  masterKey.dispose()
  assert.deepEqual(
    copying.mock.calls.map(({ result }) => result),
    [new Uint8Array(32)]
  )
})

test('who comes back while a mailbox is being closed does not wait for its conversion', async (t) => {
  const { promise: isAsked, resolve: onAsked } = Promise.withResolvers()
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers()
  const accounts = await setUp(t, { 'maintenance.closeBudgetMs': 0 })
  const { account, enter, services, worker, openAccounts } = accounts
  await makeForeign(accounts)
  const { findMaintenance } = services.directory
  services.directory.findMaintenance = async (accountId) => {
    onAsked(undefined)
    await isAnswered
    return findMaintenance(accountId)
  }
  await (await enter()).release()
  await isAsked
  const { promise: isNeeded, resolve: onNeeded } = Promise.withResolvers()
  t.mock.method(worker, 'need', (/** @type {string} */ accountId) => {
    MaintenanceWorker.prototype.need.call(worker, accountId)
    onNeeded(undefined)
  })
  const entering = enter()
  await isNeeded
  answer(undefined)
  const { store } = await entering
  assert.equal(store.cipher, 'aes256cbc')
  assert.ok(openAccounts.isOpen(account.id))
})

test('a mailbox is closed also where the directory does not say what is due', async (t) => {
  const accounts = await setUp(t, { 'maintenance.closeBudgetMs': 0 })
  const { account, enter, services, openAccounts } = accounts
  await makeForeign(accounts)
  await enter()
  services.directory.findMaintenance = async () => {
    throw new MailError('BUSY')
  }
  await openAccounts.closeMailbox(account.id, 'closed').catch(() => {})
  const lock = await lockExclusive(account.folder, { timeoutMs: 0 })
  lock.release()
})

/** Of which some are words of `flags` and some of `keywords`. */
const KEYWORDS = Array.from({ length: 59 }, (_, number) => `k${number}`)

/** @param {import('../../../src/store/account-store.js').AccountStore} store */
async function readFlags(store) {
  const { view } = await store.openView('INBOX')
  const flags = [...view.uids.subarray(0, view.length)].map((_, slot) =>
    store.keywords.flagNames(view.flags[slot] ?? 0, view.keywords[slot] ?? 0)
  )
  store.closeView(view)
  return flags
}

test('when all keywords are taken, those that no message has are given up at a close, once a day', async (t) => {
  const { enter, runs, clock, locked } = await setUp(t)
  const { store, release } = await enter()
  for (const name of KEYWORDS) await appendOne(store, 'INBOX', Buffer.from('A: 1\r\n\r\nx'), [name])
  const { view } = await store.openView('INBOX')
  const keep = new Set([1, 27, 28, 59])
  const uids = [...view.uids.subarray(0, view.length)].filter((uid) => !keep.has(uid))
  await store.changeFlags({ view, uids: uids.slice(0, 30), action: 'set', flags: ['\\Seen'] })
  await store.changeFlags({ view, uids: uids.slice(30), action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  store.closeView(view)
  const before = await readFlags(store)
  await assert.rejects(store.changeFlags({ view, uids: [1], action: 'add', flags: ['$New'] }), {
    code: 'LIMIT'
  })
  await release()
  await locked()
  assert.equal(results(await runs())['keywords'], undefined)

  clock.advance(2 * 24 * 60 * 60 * 1000)
  await (await enter()).release()
  await locked(2)
  const [run] = (await runs()).filter(({ job }) => job === 'keywords')
  assert.equal(run?.result, 'done')
  assert.deepEqual([run?.before, run?.after], [{ keywords: 59 }, { keywords: keep.size }])
  const again = await enter()
  assert.deepEqual(again.store.keywords.names, ['k0', 'k26', 'k27', 'k58'])
  assert.deepEqual(await readFlags(again.store), before)
  // Its number is that of one that is gone.
  await appendOne(again.store, 'INBOX', Buffer.from('A: 1\r\n\r\nx'), ['$New', 'k0'])
  assert.deepEqual((await readFlags(again.store)).at(-1)?.sort(), ['$New', 'k0'])
  await again.release()
})

test('keywords stay where somebody else has the mailbox open at the close', async (t) => {
  const { enter, runs, clock, account, locked } = await setUp(t)
  const { store, release } = await enter()
  for (const name of KEYWORDS) await appendOne(store, 'INBOX', Buffer.from('A: 1\r\n\r\nx'), [name])
  const { view } = await store.openView('INBOX')
  await store.changeFlags({ view, uids: [1], action: 'set', flags: [] })
  store.closeView(view)
  clock.advance(2 * 24 * 60 * 60 * 1000)
  const other = await lockShared(account.folder, { timeoutMs: 0 })
  await release()
  await locked()
  other.release()
  assert.equal(results(await runs())['keywords'], 'stopped')
  assert.equal((await enter()).store.keywords.names.length, KEYWORDS.length)
})
