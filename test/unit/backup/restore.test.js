import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFreezeFile, writeFreezeFile } from '../../../src/database/freeze-file.js'
import { materialize } from '../../../src/backup/materialize.js'
import { readSnapshot } from '../../../src/backup/snapshot-store.js'
import { loadConfig } from '../../../config/load.js'
import { runBackup } from '../../../src/backup/run.js'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { changePassword } from '../../../src/accounts/change-password.js'
import { requireOwner } from '../../../src/accounts/check-credential.js'
import { openStore } from '../../../src/accounts/open-store.js'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { checkRestored } from '../../../src/accounts/restored.js'
import { chooseGeneration, requireEntry } from '../../../src/backup/choose.js'
import { withOpenCopy } from '../../../src/backup/open-copy.js'
import { restoreAccount } from '../../../src/backup/restore-account.js'
import { restoreAs } from '../../../src/backup/restore-as.js'
import { restoreDeleted } from '../../../src/backup/restore-deleted.js'
import { restoreHost } from '../../../src/backup/restore-host.js'
import { restoreMessages } from '../../../src/backup/restore-messages.js'
import { findInSealedDirectory, openKeys } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { lockShared } from '../../../src/database/lock.js'
import { drainSpool } from '../../../src/delivery/drain.js'
import { openSealIdentities } from '../../../src/accounts/seal-identity.js'
import { listSpool, writeSpoolFile } from '../../../src/delivery/spool.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'

const ANNA = 'anna@example.org'
const PASSWORD = 'secret of the user'
const UID_STEP = 2 ** 20
const MODSEQ_STEP = 2 ** 32

/** @typedef {Awaited<ReturnType<typeof openBackupHost>>} Host */

/**
 * Opens a mailbox as a login does.
 *
 * @template T
 * @param {Host['services']} services
 * @param {string} username
 * @param {(store: import('../../../src/store/account-store.js').AccountStore) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withLogin(services, username, work) {
  const { account, masterKey } = await logIn(services, PASSWORD, { username })
  try {
    const store = await openStore({
      services,
      account,
      masterKey,
      onAlert: ({ code }) => assert.fail(code)
    })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  } finally {
    masterKey.dispose()
  }
}

/**
 * @param {Host} host
 * @param {import('../../../src/accounts/directory-port.js').Account} account
 * @param {string} [name] - of the generation
 */
async function restore(host, account, name) {
  return await restoreAccount({
    directory: host.services.directory,
    target: host.target,
    generation: await chooseGeneration(host.repository, { name }),
    account,
    data: host.data,
    clock: host.clock
  })
}

/**
 * @param {import('../../../src/accounts/directory-port.js').Account} account
 * @param {string} text
 */
const deliver = (account, text) =>
  writeSpoolFile({
    spoolFolder: join(account.folder, 'spool'),
    publicKey: account.sealPublicKey,
    envelope: { recipient: account.address, sender: 'x@example.net', receivedAtMs: 1 },
    message: [Buffer.from(`Subject: ${text}\r\n\r\n${text}\r\n`)]
  })

/**
 * @param {Host['services']} services
 * @param {import('../../../src/accounts/directory-port.js').Account} account
 */
async function drain(services, account) {
  const { masterKey } = await logIn(services, PASSWORD, { username: account.address })
  const { directory, logger } = services
  const identities = await openSealIdentities({ directory, accountId: account.id, masterKey })
  masterKey.dispose()
  const spoolFolder = join(account.folder, 'spool')
  try {
    return await withLogin(services, account.address, (store) =>
      drainSpool({ spoolFolder, identities, store, logger })
    )
  } finally {
    for (const identity of identities) identity.destroy()
  }
}

test('a mailbox comes back as it was, the one of before is kept, and no UID or MODSEQ comes again', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 10)
  const { generation } = await host.backUp()
  const then = await host.inboxOf(ANNA)
  await host.addMessages(ANNA, 7)
  const before = await host.inboxOf(ANNA)

  const { replaced } = await restore(host, anna, generation)
  assert.ok(existsSync(join(replaced, 'mail.db')))
  const after = await withLogin(host.services, ANNA, async (store) => {
    const status = await store.mailboxStatus('INBOX')
    const expunged = await store.readExpunged(status.id, before.highestModSeq)
    const { view } = await store.openView('INBOX')
    const modSeqs = [...view.modSeqs.subarray(0, view.length)]
    store.closeView(view)
    return { ...status, expunged, modSeqs }
  })
  assert.equal(after.messageCount, 10)
  assert.equal(after.uidValidity, then.uidValidity)
  assert.equal(after.uidNext, then.uidNext + UID_STEP)
  assert.equal(after.highestModSeq, then.highestModSeq + MODSEQ_STEP)
  assert.ok(after.modSeqs.every((modSeq) => modSeq > before.highestModSeq))
  // Who comes with a MODSEQ of before is told of every UID that is not there.
  assert.equal(after.expunged.isComplete, false)
  // Once, not at each unlock.
  assert.equal((await host.inboxOf(ANNA)).uidNext, after.uidNext)
})

test('a restored mailbox is checked with its key, once, after the first unlock', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  await host.backUp()
  await restore(host, anna)
  const { directory } = host.services
  const check = () =>
    withLogin(host.services, ANNA, (store) =>
      checkRestored({ directory, store, accountId: anna.id })
    )
  assert.deepEqual(await check(), { problems: 0 })
  assert.equal(await check(), null)
  await directory.flush()
  const actions = (await directory.listAudit({ accountId: anna.id })).map(({ action }) => action)
  assert.ok(actions.includes('restore-switched') && actions.includes('restore-checked'))
})

test('mail that arrived since stays in the spool, and what was waiting then waits again', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA)
  await deliver(anna, 'drained before the backup')
  await drain(host.services, anna)
  const waiting = await deliver(anna, 'waits at the backup')
  await host.backUp()
  assert.equal((await drain(host.services, anna)).delivered, 1)
  const later = await deliver(anna, 'after the backup')

  await restore(host, anna)
  const names = (await listSpool(join(anna.folder, 'spool'))).map(({ name }) => name)
  assert.deepEqual(names.sort(), [waiting.name, later.name].sort())
  assert.equal((await drain(host.services, anna)).delivered, 2)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

test('what was taken in while the backup ran is delivered once', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA)
  const { name } = await deliver(anna, 'in between')
  const path = join(anna.folder, 'spool', name)
  // As if the backup had read the spool file, and then mail.db after the owner took the file in: with mail.freeze there,
  // the name stays in the mailbox.
  await copyFile(path, join(host.data, 'kept'))
  await writeFreezeFile(anna.folder, { token: 'a', deadlineMs: Date.now() + 60_000 })
  assert.equal((await drain(host.services, anna)).delivered, 1)
  await removeFreezeFile(anna.folder, 'a')
  await host.backUp()
  await copyFile(join(host.data, 'kept'), path)
  await restore(host, anna)
  assert.equal((await drain(host.services, anna)).delivered, 0)
  assert.equal((await host.inboxOf(ANNA)).count, 1)
})

test('while somebody keeps the mailbox open, nothing changes', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation: name } = await host.backUp()
  await host.addMessages(ANNA, 1)
  const lock = await lockShared(anna.folder, { timeoutMs: 0 })
  const generation = await host.repository.readGeneration(name)
  const { directory } = host.services
  await assert.rejects(
    restoreAccount({
      directory,
      target: host.target,
      generation,
      account: anna,
      data: host.data,
      clock: host.clock,
      timeoutMs: 50
    }),
    { code: 'BUSY' }
  )
  lock.release()
  assert.equal(await directory.findRestore(anna.id), null)
  assert.equal((await host.inboxOf(ANNA)).count, 4)
  assert.deepEqual(
    readdirSync(anna.folder).filter((entry) => /^(restore|replaced)/.test(entry)),
    []
  )
})

test('a restore that died before anybody closed the mailbox keeps nobody out, and is carried out when all have', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation: name } = await host.backUp()
  await host.addMessages(ANNA, 1)
  const { directory } = host.services
  const entry = requireEntry(await host.repository.readGeneration(name), anna.id)
  const snapshot = await readSnapshot(host.target, entry.snapshot)
  const logInAndCount = () =>
    withLogin(
      host.services,
      ANNA,
      async (store) => (await store.mailboxStatus('INBOX')).messageCount
    )

  await withLogin(host.services, ANNA, async () => {
    const folder = join(anna.folder, 'restore-dead')
    await materialize({ target: host.target, snapshot, folder })
    await directory.beginRestore({
      accountId: anna.id,
      generation: name,
      state: 'asked',
      staged: 'restore-dead',
      replaced: 'replaced-dead',
      cipher: null,
      requestedAtMs: host.clock.nowMs()
    })
    assert.equal(await logInAndCount(), 4)
    assert.equal((await directory.findRestore(anna.id))?.state, 'asked')
  })
  assert.equal(await logInAndCount(), 3)
  assert.equal((await directory.findRestore(anna.id))?.state, 'check')
})

test('a damaged backup never takes a mailbox’s place', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(generation)
  const pack = accounts[0]?.snapshot.pack ?? ''
  const path = join(host.folder, 'packs', pack.slice(0, 2), `${pack}.pack`)
  const bytes = await readFile(path)
  bytes[5000] = (bytes[5000] ?? 0) ^ 1
  await writeFile(path, bytes)
  await assert.rejects(restore(host, anna), { code: 'BACKUP_DAMAGED' })
  assert.equal(await host.services.directory.findRestore(anna.id), null)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

for (const interrupted of /** @type {const} */ (['before', 'old away', 'after'])) {
  test(`a switch that was cut short (${interrupted}) is finished by the next unlock`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 5)
    await host.backUp()
    await host.addMessages(ANNA, 2)
    const { directory } = host.services
    // What restoreAccount leaves when it is killed: everything staged, and the row.
    const staged = join(anna.folder, 'restore-x')
    const generation = await chooseGeneration(host.repository)
    const snapshot = await readSnapshot(host.target, requireEntry(generation, anna.id).snapshot)
    await materialize({ target: host.target, snapshot, folder: staged })
    await directory.beginRestore({
      accountId: anna.id,
      generation: generation.name,
      state: interrupted === 'before' ? 'asked' : 'switching',
      staged: 'restore-x',
      replaced: 'replaced-x',
      cipher: 'chacha20',
      requestedAtMs: 1
    })
    if (interrupted !== 'before') {
      await mkdir(join(anna.folder, 'replaced-x'))
      await rename(join(anna.folder, 'mail.db'), join(anna.folder, 'replaced-x', 'mail.db'))
    }
    if (interrupted === 'after') await rename(join(staged, 'mail.db'), join(anna.folder, 'mail.db'))

    const count = await withLogin(host.services, ANNA, async (store) => {
      return (await store.mailboxStatus('INBOX')).messageCount
    })
    assert.equal(count, 5)
    assert.equal((await directory.findRestore(anna.id))?.state, 'check')
    assert.equal(existsSync(staged), false)
    assert.ok(existsSync(join(anna.folder, 'replaced-x', 'mail.db')))
  })
}

test('after a rekey, the mailbox of before does not come back in place, but under another name', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 4)
  await deliver(anna, 'waits')
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
  // The four, and the one that waited.
  assert.equal((await host.inboxOf(address)).count, 5)
  assert.equal((await host.inboxOf(ANNA)).count, 4)
})

test('under another name, with the password of today', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 4)
  await host.backUp()
  await host.addMessages(ANNA, 1)
  const { services, target } = host
  const generation = await chooseGeneration(host.repository)
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

  const generation = await chooseGeneration(host.repository)
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
  assert.deepEqual(await take({ folder: null, messageId: '<wanted@example.net>' }), {
    restored: 1,
    folders: ['Restored/Invoices']
  })
  assert.equal((await take({ folder: null, messageId: 'nobody@example.net' })).restored, 0)
  await assert.rejects(take({ folder: 'None', messageId: null }), { code: 'MAILBOX_NOT_FOUND' })
  assert.equal(existsSync(folder), false)
  masterKey.dispose()
  await withLogin(services, ANNA, async (store) => {
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

test('a whole host comes back onto an empty folder, the original gone: every credential works', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 5)
  await host.addAccount('bob@example.org', 2)
  const carl = await makeAccount(host.services, 'carl@example.org', PASSWORD)
  const secret = Buffer.from(PASSWORD)
  const { text: appPassword } = await createAppPassword({
    services: host.services,
    account: anna,
    secret,
    label: 'phone',
    scope: 'read-write'
  })
  await deliver(anna, 'waits')
  const { generation: name } = await host.backUp()
  const folder = join(await scratchFolder(t), 'new')
  const { target, repository, clock, services } = host
  await services.close()
  await rm(host.data, { recursive: true })

  const settings = {
    data: folder,
    defaultDomain: 'example.org',
    'backup.folder': host.folder,
    'auth.argon2.memoryKiB': 19 * 1024
  }
  const config = loadConfig({ settings, environment: {} })
  const generation = await repository.readGeneration(name)
  const recoveryKey = await RecoveryKey.parse(host.recoveryKey)
  const { logger } = services
  const options = { config, repository, generation, clock, logger }
  const other = await openBackupHost(t)
  await assert.rejects(
    restoreHost({ ...options, recoveryKey: await RecoveryKey.parse(other.recoveryKey) }),
    { code: 'RECOVERY_KEY_REJECTED' }
  )
  assert.equal(existsSync(folder), false)
  // Killed while it wrote the first of its files, or the last.
  await mkdir(folder)
  for (const name of ['restoring.json.41.tmp', 'pepper.42.tmp'])
    await writeFile(join(folder, name), 'half')
  const summary = await restoreHost({ ...options, recoveryKey })
  assert.deepEqual(
    readdirSync(folder).filter((name) => /\.tmp$|^restoring/.test(name)),
    []
  )
  assert.deepEqual(summary, { accounts: 3, missing: [] })
  // Never over live data.
  await assert.rejects(restoreHost({ ...options, recoveryKey }), { code: 'RESTORE_REFUSED' })

  const { open } = await openTestAccounts(t)
  const restored = await open(settings)
  assert.deepEqual(
    await drain(restored, { ...anna, folder: anna.folder.replace(host.data, folder) }),
    {
      delivered: 1,
      setAside: 0,
      remaining: 0,
      stoppedBy: null
    }
  )
  assert.equal((await host.inboxOf(ANNA, restored)).count, 6)
  assert.equal((await host.inboxOf('bob@example.org', restored)).count, 2)
  ;(await logIn(restored, appPassword)).masterKey.dispose()
  const changed = await changePassword({
    services: restored,
    account: carl.account,
    oldSecret: Buffer.from(carl.recoveryCode),
    newPassword: Buffer.from('another secret of the user')
  })
  assert.match(String(changed.recoveryCode), /^llrec-/)
  const username = 'carl@example.org'
  ;(await logIn(restored, 'another secret of the user', { username })).masterKey.dispose()

  // And its backups go on in the same place, with nothing to store again.
  clock.advance(60 * 60 * 1000)
  const { newBytes, failed } = await runBackup({ config, target, clock, logger })
  assert.deepEqual(failed, [])
  assert.ok(newBytes < 1_000_000)
})

test('an account that the backup has no good copy of is told, and not made without its mail', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 5)
  await host.addAccount('bob@example.org', 2)
  await rm(join(anna.folder, 'mail.db'))
  const { generation: name } = await host.backUp()
  const folder = join(await scratchFolder(t), 'new')
  const settings = { data: folder, defaultDomain: 'example.org', 'backup.folder': host.folder }
  const { missing, accounts } = await restoreHost({
    config: loadConfig({ settings, environment: {} }),
    repository: host.repository,
    generation: await host.repository.readGeneration(name),
    recoveryKey: await RecoveryKey.parse(host.recoveryKey),
    clock: host.clock,
    logger: host.services.logger
  })
  assert.equal(accounts, 1)
  assert.deepEqual(missing, [{ address: ANNA, code: 'BACKUP_MISSING' }])
})
