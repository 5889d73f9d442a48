/**
 * What maintenance does when a mailbox is closed, and who comes back meanwhile.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { deriveDatabaseKey } from '../../../src/crypto/key-derivation.js'
import { lockExclusive } from '../../../src/database/lock.js'
import { MailError } from '../../../src/errors.js'
import { systemResources } from '../../../src/maintenance/resources.js'
import { MaintenanceWorker } from '../../../src/maintenance/worker.js'
import { convertCipher } from '../../../src/store/open-store.js'
import { appendMany } from '../../helpers/account-folder.js'
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
