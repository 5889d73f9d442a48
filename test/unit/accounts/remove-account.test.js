/**
 * Accounts that are deleted: the keys at once, the files when nobody has them open any more.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { resetAccount } from '../../../src/accounts/change-password.js'
import {
  deleteAccount,
  keepRemoving,
  removePendingFolders
} from '../../../src/accounts/remove-account.js'
import { lockShared } from '../../../src/database/lock.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import { NEW, OLD, assertRefused } from '../../helpers/change-keys.js'

test('the files of one erased account that cannot be removed are in nobody’s way', async (t) => {
  const { services, lines } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { account: erased } = await makeAccount(services, 'bert@example.org')
  const lock = join(erased.folder, 'mail.lock')
  await rm(lock)
  await mkdir(lock)
  assert.deepEqual(await deleteAccount({ services, account: erased }), { isRemoved: false })
  const reset = await resetAccount({ services, account, newPassword: Buffer.from(NEW) })
  assert.match(reset.recoveryCode, /^llrec-/)
  assert.ok(reset.isRemoved)
  assert.deepEqual(await removePendingFolders({ services }), { left: [erased.folder] })
  assert.ok(lines.some(({ msg }) => msg === 'the files of an erased mailbox cannot be removed'))
})

test('deleting destroys the keys before the files, and the files are gone', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const keys = await services.directory.listCredentials(account.id)
  const lock = await lockShared(account.folder, { timeoutMs: 1000 })
  const deleting = deleteAccount({ services, account })
  // The keys go although the mailbox is still open.
  while (await services.directory.findAccount(account.id)) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (const { wrappedKey } of keys) {
    assert.equal(isOnDisk(join(data, 'directory.db'), wrappedKey), false)
  }
  assert.equal(existsSync(account.folder), true)
  lock.release()
  assert.deepEqual(await deleting, { isRemoved: true })
  assert.equal(existsSync(account.folder), false)
  await assertRefused(logIn(services, OLD), 'AUTHENTICATION_FAILED')
  await assertRefused(deleteAccount({ services, account }), 'ACCOUNT_NOT_FOUND')
})

test('accounts that are deleted at the same moment keep nobody from removing their files', async (t) => {
  const { services, lines } = await openTestAccounts(t)
  const accounts = []
  for (let nth = 0; nth < 12; nth++) {
    accounts.push((await makeAccount(services, `user${nth}@example.org`)).account)
  }
  const lock = await lockShared(accounts[0]?.folder ?? '', { timeoutMs: 1000 })
  const [held, ...others] = accounts.map((account) => deleteAccount({ services, account }))
  while ((await services.directory.listRemovals()).length < accounts.length) await sleep(1)
  lock.release()
  for (const deletion of [held, ...others]) assert.deepEqual(await deletion, { isRemoved: true })
  assert.deepEqual(
    accounts.filter(({ folder }) => existsSync(folder)),
    []
  )
  assert.deepEqual(lines, [])
})

test('processes that remove one folder at once are not in each other’s way', async (t) => {
  const { services, lines } = await openTestAccounts(t)
  for (let nth = 0; nth < 20; nth++) {
    const { account } = await makeAccount(services)
    await services.directory.deleteAccount(account.id)
    // A directory each: of one, they would take turns.
    const removals = Array.from({ length: 4 }, async (_, turn) => {
      await sleep(turn)
      const directory = { ...services.directory }
      return await removePendingFolders({
        services: { ...services, directory },
        awaited: account.folder
      })
    })
    for (const removal of removals) assert.deepEqual(await removal, { left: [] })
    assert.equal(existsSync(account.folder), false)
    assert.deepEqual(await services.directory.listRemovals(), [])
  }
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    []
  )
})

test('a server that runs on removes what a command had open, and goes on looking', async (t) => {
  const { services } = await openTestAccounts(t)
  const removing = keepRemoving({ services, everyMs: 1 })
  t.after(() => removing.stop())
  for (const name of ['ann@example.org', 'bert@example.org']) {
    const { account } = await makeAccount(services, name)
    const lock = await lockShared(account.folder, { timeoutMs: 1000 })
    await services.directory.deleteAccount(account.id)
    await removePendingFolders({ services })
    assert.ok(existsSync(account.folder))
    lock.release()
    while (existsSync(account.folder)) await sleep(1)
  }
  await removing.stop()
  const { account } = await makeAccount(services, 'carl@example.org')
  await services.directory.deleteAccount(account.id)
  await sleep(20)
  assert.ok(existsSync(account.folder), 'stopped')
})

test('files that are in use are removed later, and the address is free at once', async (t) => {
  const { services, open } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const lock = await lockShared(account.folder, { timeoutMs: 1000 })
  await services.directory.deleteAccount(account.id)
  const { left } = await removePendingFolders({ services })
  assert.deepEqual(left, [account.folder])
  const again = await makeAccount(services)
  assert.notEqual(again.account.id, account.id)
  lock.release()
  await services.close()
  const restarted = await open()
  assert.deepEqual(await removePendingFolders({ services: restarted }), { left: [] })
  assert.equal(existsSync(account.folder), false)
  assert.equal(existsSync(again.account.folder), true)
  assert.deepEqual(await restarted.directory.listRemovals(), [])
})

test('a folder that somebody else has removed and listed no more meanwhile is not removed again', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const asked = [[account.folder], []]
  const listRemovals = async () => asked.shift() ?? []
  const directory = { ...services.directory, listRemovals }
  assert.deepEqual(await removePendingFolders({ services: { ...services, directory } }), {
    left: []
  })
  assert.ok(existsSync(join(account.folder, 'mail.db')))
})
