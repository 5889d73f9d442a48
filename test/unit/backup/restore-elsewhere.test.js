import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { requireOwner } from '../../../src/accounts/check-credential.js'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { deleteAccount, removePendingFolders } from '../../../src/accounts/remove-account.js'
import { chooseGeneration, requireEntry } from '../../../src/backup/choose.js'
import { findDeleted } from '../../../src/backup/find-deleted.js'
import { withOpenCopy } from '../../../src/backup/open-copy.js'
import { restoreAs } from '../../../src/backup/restore-as.js'
import { restoreDeleted } from '../../../src/backup/restore-deleted.js'
import { restoreMessages } from '../../../src/backup/restore-messages.js'
import { findInSealedDirectory, openKeys } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { deriveDatabaseKey } from '../../../src/crypto/key-derivation.js'
import { convertCipher } from '../../../src/store/mail-file.js'
import { logIn, tamper } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'
import { crashing, rekey } from '../../helpers/change-keys.js'
import { appendAll, temporaryStore } from '../../helpers/temporary-store.js'
import { ANNA, PASSWORD, deliver, drain, restore, withLogin } from '../../helpers/restore.js'

test('after a rekey, the mailbox of before does not come back in place, but under another name', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 4)
  const waiting = await deliver(anna, 'waits')
  const { generation: name } = await host.backUp()
  const password = Buffer.from(PASSWORD)
  await rekeyAccount({ services: host.services, account: anna, password })
  const account = await host.services.directory.findAccount(anna.id)
  assert.ok(account)
  await assert.rejects(restore(host, account, name), { code: 'RESTORE_REFUSED' })

  const { services, target } = host
  const generation = await host.repository.readGeneration(name)
  const address = 'anna-old@example.org'
  const request = { services, target, generation, account, address, password }
  await assert.rejects(restoreAs({ ...request, keys: null }), { code: 'RESTORE_REFUSED' })
  const keys = await openKeys(
    target,
    requireEntry(generation, anna.id),
    await RecoveryKey.parse(host.recoveryKey)
  )
  await assert.rejects(restoreAs({ ...request, keys, password: Buffer.from('wrong') }), {
    code: 'AUTHENTICATION_FAILED'
  })
  const made = await restoreAs({ ...request, keys })
  assert.equal(made.account.address, address)
  // What waited comes in at a login, also where nothing else was done after the account was made.
  assert.deepEqual(await readdir(join(made.account.folder, 'spool')), [waiting.name])
  const { delivered, setAside } = await drain(services, made.account)
  assert.deepEqual({ delivered, setAside }, { delivered: 1, setAside: 0 })
  assert.equal((await host.inboxOf(address)).count, 5)
  assert.equal((await host.inboxOf(ANNA)).count, 4)
})

test('under another name, with the password of today', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 4)
  await host.backUp()
  await host.addMessages(ANNA, 1)
  const { services, target } = host
  const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
  const password = Buffer.from(PASSWORD)
  const request = { services, target, generation, account, keys: null, password }
  await assert.rejects(restoreAs({ ...request, address: ANNA }), { code: 'ACCOUNT_EXISTS' })
  const { recoveryCode, account: made } = await restoreAs({ ...request, address: 'b@example.org' })
  assert.equal((await host.inboxOf('b@example.org')).count, 4)
  const secret = Buffer.from(recoveryCode)
  const checked = await requireOwner({ services, account: made, secret })
  checked.masterKey.dispose()
  assert.equal((await host.inboxOf(ANNA)).count, 5)
})

test('the new account may have the address of the old one with a detail, as any other new one', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 4)
  await host.backUp()
  const { services, target } = host
  const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
  const address = ANNA.replace('@', '+2024@')
  const password = Buffer.from(PASSWORD)
  const request = { services, target, generation, account, keys: null, password, address }
  const { account: made } = await restoreAs(request)
  assert.equal(made.address, address)
  assert.notEqual(made.id, account.id)
  assert.equal((await host.inboxOf(address)).count, 4)
  await assert.rejects(restoreAs(request), { code: 'ACCOUNT_EXISTS' })
})

test('where nobody has said what cipher a mailbox has, the new account does not say so either', async (t) => {
  const host = await openBackupHost(t, { 'storage.cipher': 'aegis-256' })
  const { id } = await host.addAccount(ANNA)
  const { masterKey } = await logIn(host.services, PASSWORD)
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  const found = await host.services.directory.findAccount(id)
  assert.ok(found)
  await convertCipher({
    folder: found.folder,
    key,
    cipher: found.cipher,
    nextCipher: 'aes256cbc',
    timeoutMs: 5000
  })
  tamper(host.data, 'UPDATE accounts SET cipher = NULL')
  await host.backUp()
  const account = await host.services.directory.findAccount(id)
  assert.ok(account)
  const { services, target } = host
  const { account: made } = await restoreAs({
    services,
    target,
    generation: await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() }),
    account,
    keys: null,
    password: Buffer.from(PASSWORD),
    address: 'b@example.org'
  })
  assert.equal(made.cipher, null)
  await withLogin(services, 'b@example.org', async (store) =>
    assert.equal(store.cipher, 'aes256cbc')
  )
})

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

test('a folder and a message come back into a folder of their own, with flags and dates', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 3)
  const { services, target, clock } = host
  await withLogin(services, ANNA, async (store) => {
    await store.createMailbox('Invoices')
    const content = await store.stageContent()
    await content.write(
      Buffer.from('Message-ID: <wanted@example.net>\r\nSubject: x\r\n\r\nbody\r\n')
    )
    await store.appendMessages('Invoices', [
      {
        content: await content.finish(),
        flags: ['\\Seen', '\\Deleted', 'paid'],
        internalDate: { epochSeconds: 1_700_000_000, zoneMinutes: 60 }
      }
    ])
  })
  await host.backUp()
  await withLogin(services, ANNA, (store) => store.deleteMailbox('Invoices'))

  const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
  const entry = requireEntry(generation, account.id)
  const { masterKey } = await logIn(services, PASSWORD)
  const folder = join(host.data, 'tmp', 'copy')
  const take = (/** @type {{ folder: string | null, messageId: string | null }} */ wanted) =>
    withOpenCopy({ target, entry, masterKey, folder, clock }, (from) =>
      withLogin(services, ANNA, (to) => restoreMessages({ from, to, wanted, into: 'Restored' }))
    )
  assert.deepEqual(await take({ folder: 'Invoices', messageId: null }), {
    restored: 1,
    folders: ['Restored/Invoices']
  })
  assert.deepEqual((await take({ folder: 'Invoices/', messageId: null }))?.folders, [
    'Restored/Invoices'
  ])
  assert.deepEqual((await take({ folder: 'inbox', messageId: null }))?.folders, ['Restored/INBOX'])
  assert.deepEqual(await take({ folder: null, messageId: '<wanted@example.net>' }), {
    restored: 1,
    folders: ['Restored/Invoices']
  })
  assert.equal((await take({ folder: null, messageId: 'nobody@example.net' }))?.restored, 0)
  // No failure: a folder of today that is deleted meanwhile is one.
  assert.equal(await take({ folder: 'None', messageId: null }), null)
  assert.equal(existsSync(folder), false)
  masterKey.dispose()
  await withLogin(services, ANNA, async (store) => {
    const subscribed = (await store.listSubscriptions()).filter((name) => /^Restored/.test(name))
    assert.deepEqual(subscribed, ['Restored', 'Restored/INBOX', 'Restored/Invoices'])
    const { view } = await store.openView('Restored/Invoices')
    const records = await store.readMessages(view.mailboxId, [1, 2], { row: true })
    assert.equal(records.length, 2)
    for (const { flags, keywords, internalDate } of records) {
      assert.deepEqual(store.keywords.flagNames(flags, keywords), ['\\Seen', 'paid'])
      assert.deepEqual(internalDate, { epochSeconds: 1_700_000_000, zoneMinutes: 60 })
    }
    store.closeView(view)
  })
})

test('a message is found by its Message-ID however that is written', async (t) => {
  const from = await temporaryStore(t)
  const to = await temporaryStore(t)
  const ids = ['<a@example.net>', '<"quoted id"@example.net>', '<two words@example.net>', '<word>']
  const mails = ids.map((id) => ({ bytes: Buffer.from(`Message-ID: ${id}\r\n\r\nbody\r\n`) }))
  await appendAll(from, 'INBOX', mails)
  for (const id of [...ids, ...ids.map((each) => each.slice(1, -1))]) {
    const wanted = { folder: null, messageId: ` ${id} ` }
    assert.equal((await restoreMessages({ from, to, wanted, into: 'Restored' }))?.restored, 1, id)
  }
})
