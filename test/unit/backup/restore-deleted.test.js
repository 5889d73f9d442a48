/**
 * Accounts that were deleted come back out of a backup, with all that they had.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { deleteAccount, removePendingFolders } from '../../../src/accounts/remove-account.js'
import { findDeleted } from '../../../src/backup/find-deleted.js'
import { restoreDeleted } from '../../../src/backup/restore-deleted.js'
import { findInSealedDirectory } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { openBackupHost } from '../../helpers/backup.js'
import { crashing, rekey } from '../../helpers/change-keys.js'
import { ANNA, PASSWORD, withLogin } from '../../helpers/restore.js'

test('a deleted account is back with its credentials and aliases, and is not erased later', async (t) => {
  const host = await openBackupHost(t, { 'backup.eraseDeletedAfterDays': 0 })
  const anna = await host.addAccount(ANNA, 6)
  const { services, target } = host
  await services.directory.addAlias(anna.id, 'a.nna@example.org')
  const { generation: name } = await host.backUp()
  await deleteAccount({ services, account: anna })
  await services.directory.flush()
  const generation = await host.repository.readGeneration(name)
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const found = await findInSealedDirectory({
    target,
    generation,
    recoveryKey,
    address: 'a.nna@example.org',
    scratchFile: join(host.data, 'tmp', 'found.db'),
    dataFolder: host.data,
    clock: host.clock,
    logger: services.logger
  })
  assert.ok(found)
  const { lostAliases } = await restoreDeleted({ services, target, generation, recoveryKey, found })
  assert.deepEqual(lostAliases, [])
  const count = (/** @type {string} */ address) =>
    withLogin(services, address, async (store) => (await store.mailboxStatus('INBOX')).messageCount)
  assert.equal(await count('a.nna@example.org'), 6)
  host.clock.advance(1000)
  await host.backUp()
  assert.ok(await target.size(generation.accounts[0]?.keys ?? ''))

  // And once erased, it is gone for good.
  const again = await services.directory.findAccount(anna.id)
  assert.ok(again)
  await deleteAccount({ services, account: again })
  await services.directory.flush()
  await host.backUp()
  await assert.rejects(restoreDeleted({ services, target, generation, recoveryKey, found }), {
    code: 'RESTORE_REFUSED'
  })
})

test('a deleted account is back as it was set: disabled, with its quotas and in its tenant', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 1)
  const ben = await host.addAccount('ben@example.org', 1)
  const { services, target, repository } = host
  const { directory } = services
  const acme = { id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 }
  await directory.createTenant(acme)
  await directory.createTenant({ ...acme, id: 'other' })
  await directory.updateAccount(anna.id, {
    isEnabled: false,
    quotaBytes: 5_000_000,
    quotaMessages: 7,
    tenant: 'acme'
  })
  await directory.flush()
  const { generation: name } = await host.backUp()
  const search = {
    target,
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    scratchFile: join(host.data, 'tmp', 'found.db'),
    dataFolder: host.data,
    clock: host.clock,
    logger: services.logger
  }
  const bringBack = async (/** @type {string} */ address) => {
    const account = await directory.findByAddress(address)
    assert.ok(account)
    await deleteAccount({ services, account })
    const last = await findDeleted({ repository, names: [name], search: { ...search, address } })
    assert.ok(last)
    return await restoreDeleted({ services, target, recoveryKey: search.recoveryKey, ...last })
  }
  const { account, isTenantLost } = await bringBack(ANNA)
  const { isEnabled, quotaBytes, quotaMessages, tenant } = account
  assert.deepEqual(
    { isEnabled, quotaBytes, quotaMessages, tenant, isTenantLost },
    {
      isEnabled: false,
      quotaBytes: 5_000_000,
      quotaMessages: 7,
      tenant: 'acme',
      isTenantLost: false
    }
  )
  // Whose tenant was the domain's follows the domain.
  await directory.assignDomain('example.org', 'other')
  assert.equal((await bringBack(ben.address)).account.tenant, 'other')
  await directory.updateAccount(anna.id, { tenant: 'other' })
  await directory.deleteTenant('acme')
  const after = await bringBack(ANNA)
  assert.deepEqual([after.account.tenant, after.isTenantLost], ['other', true])
})

test('an alias that somebody else has got meanwhile stays theirs, and is told', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 1)
  const ben = await host.addAccount('ben@example.org')
  const { services, target } = host
  const { directory } = services
  const { generation: name } = await host.backUp()
  await deleteAccount({ services, account })
  await directory.addAlias(ben.id, 'office@example.org')
  const { lostAliases } = await restoreDeleted({
    services,
    target,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    found: { account, aliases: ['office@example.org', 'a.nna@example.org'], ownTenant: null }
  })
  assert.deepEqual(lostAliases, ['office@example.org'])
  assert.equal((await directory.findByAddress('office@example.org'))?.id, ben.id)
  assert.equal((await directory.findByAddress('a.nna@example.org'))?.id, account.id)
})

test('an account that is back has its aliases, also where the restore was killed just then', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 1)
  const { services, target } = host
  const { generation: name } = await host.backUp()
  await deleteAccount({ services, account })
  const restoring = restoreDeleted({
    services: crashing(services, 'createAccount', 'after'),
    target,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    found: { account, aliases: ['office@example.org'], ownTenant: null }
  })
  await assert.rejects(restoring, /power/)
  for (const address of [ANNA, 'office@example.org'])
    assert.equal((await services.directory.findByAddress(address))?.id, account.id, address)
})

test('a deleted account comes back under an alias that it had, which is then its address and not lost', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 1)
  const { services, target } = host
  const { generation: name } = await host.backUp()
  await deleteAccount({ services, account })
  const address = 'a.nna@example.org'
  const { account: made, lostAliases } = await restoreDeleted({
    services,
    target,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    found: { account, aliases: [address, 'office@example.org'], ownTenant: null },
    address
  })
  assert.equal(made.address, address)
  assert.deepEqual(lostAliases, [])
  assert.deepEqual(await services.directory.listAliases(made.id), ['office@example.org'])
})

test('a deleted account does not come back out of a backup amid a rekey', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 1)
  const { services, target } = host
  await assert.rejects(
    rekey(crashing(services, 'finishRekey', 'before'), account, PASSWORD),
    /power/
  )
  const { generation: name } = await host.backUp()
  await deleteAccount({ services, account })
  const restoring = restoreDeleted({
    services,
    target,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    found: { account, aliases: [], ownTenant: null }
  })
  await assert.rejects(restoring, { code: 'RESTORE_REFUSED' })
  assert.equal(await services.directory.findAccount(account.id), null)
})

test('a deleted account is found in the last backup that has it', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 1)
  await host.addAccount('ben@example.org', 1)
  const { repository, services, target } = host
  const names = []
  for (let night = 0; night < 4; night++) {
    if (night === 2) await deleteAccount({ services, account: anna })
    await services.directory.flush()
    names.unshift((await host.backUp()).generation)
    host.clock.advance(86_400_000)
  }
  const search = {
    target,
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    address: ANNA,
    scratchFile: join(host.data, 'tmp', 'found.db'),
    dataFolder: host.data,
    clock: host.clock,
    logger: services.logger
  }
  const last = await findDeleted({ repository, names, search })
  assert.equal(last?.generation.name, names[2])
  assert.equal(last?.found.account.id, anna.id)
  assert.equal(await findDeleted({ repository, names: names.slice(0, 2), search }), null)

  // One that cannot be looked into hides no older one, and is told where no other has the account.
  const { directory } = await repository.readGeneration(names[1] ?? '')
  await target.remove([directory])
  assert.equal((await findDeleted({ repository, names, search }))?.generation.name, names[2])
  await assert.rejects(findDeleted({ repository, names: names.slice(0, 2), search }), {
    code: 'BACKUP_DAMAGED'
  })
})

test('of a restore of a deleted account that was killed nothing becomes part of the next one', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 2)
  const { services, target } = host
  const { generation: name } = await host.backUp()
  const generation = await host.repository.readGeneration(name)
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const found = { account: anna, aliases: [], ownTenant: null }
  const restoring = () => restoreDeleted({ services, target, generation, recoveryKey, found })

  // Not deleted at all, only asked for by a name that it had once.
  await assert.rejects(restoring(), { code: 'ACCOUNT_EXISTS' })
  assert.deepEqual(await readdir(dirname(anna.folder)), [anna.id])

  await deleteAccount({ services, account: anna })
  const staged = `${anna.folder}.part`
  await mkdir(join(staged, 'spool'), { recursive: true })
  for (const left of ['mail.db-wal', join('spool', `${'a'.repeat(32)}.sealed`)])
    await writeFile(join(staged, left), 'of another backup')
  // Of one under another name, whose id nobody knows any more.
  await mkdir(join(dirname(anna.folder), `${'0'.repeat(16)}.part`, 'spool'), { recursive: true })
  const { account } = await restoring()
  assert.deepEqual(await readdir(dirname(anna.folder)), [basename(account.folder)])
  assert.deepEqual((await readdir(account.folder)).sort(), ['mail.db'])
  assert.equal((await host.inboxOf(ANNA)).count, 2)
})

test('a restored account stays where the folder of the deleted one is still listed for removal', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 2)
  const { services, target } = host
  const { generation: name } = await host.backUp()
  await services.directory.deleteAccount(anna.id)
  // By hand, or by a command that was killed before it could say so.
  await rm(anna.folder, { recursive: true })
  const { account } = await restoreDeleted({
    services,
    target,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    found: { account: anna, aliases: [], ownTenant: null }
  })
  assert.deepEqual(await removePendingFolders({ services }), { left: [] })
  assert.deepEqual(await services.directory.listRemovals(), [])
  assert.deepEqual(await readdir(dirname(anna.folder)), [basename(account.folder)])
  assert.equal((await host.inboxOf(ANNA)).count, 2)
})

test('no UID comes again after a restore that was killed when the account was back', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 2)
  const { services, target } = host
  const { generation: name } = await host.backUp()
  await host.addMessages(ANNA, 2)
  const before = await host.inboxOf(ANNA)
  await deleteAccount({ services, account: anna })
  const { directory } = services
  const killed = new Error('killed')
  /** @type {typeof directory} */
  const until = {
    ...directory,
    createAccount: async (account) => {
      await directory.createAccount(account)
      throw killed
    }
  }
  const restoring = restoreDeleted({
    services: { ...services, directory: until },
    target,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    found: { account: anna, aliases: [], ownTenant: null }
  })
  await assert.rejects(restoring, killed)
  const after = await withLogin(services, ANNA, (store) => store.mailboxStatus('INBOX'))
  assert.equal(after.messageCount, 2)
  assert.ok(after.uidNext > before.uidNext)
  assert.ok(after.highestModSeq > before.highestModSeq)
})
