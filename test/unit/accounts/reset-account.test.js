/**
 * A new password for somebody who has lost every other: an empty mailbox in the place of the one that nobody can open.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { resetAccount } from '../../../src/accounts/change-password.js'
import { openStore } from '../../../src/accounts/open-store.js'
import { mailboxFolder } from '../../../src/accounts/provision.js'
import { MailError } from '../../../src/errors.js'
import { logIn, makeAccount, openTestAccounts, tamper } from '../../helpers/accounts.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import {
  MAIL,
  NEW,
  OLD,
  appendMail,
  assertRefused,
  change,
  deliver,
  drain,
  readInbox,
  rekey
} from '../../helpers/change-keys.js'

/**
 * A rekey, and then a new password.
 *
 * @param {Parameters<typeof resetAccount>[0]} input
 */
async function rekeyToNew({ services, account }) {
  await rekey(services, account)
  const now = await services.directory.findAccount(account.id)
  assert.ok(now)
  await change(services, now, OLD)
}

test('the mail can be given up also where that was tried before and killed', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { id: accountId, domain } = account
  const left = mailboxFolder({ data, domain, accountId, keyEpoch: 2 })
  await mkdir(left)
  const { account: now } = await resetAccount({
    services,
    account,
    newPassword: Buffer.from(NEW)
  })
  assert.equal(now.keyEpoch, 2)
  assert.notEqual(now.folder, left)
  assert.deepEqual(await readInbox(services, NEW), [])
})

for (const [by, changeKeys] of /** @type {const} */ ([
  ['a reset', resetAccount],
  ['a rekey', rekeyToNew]
]))
  test(`whoever looked at an account before ${by} does not give up the mail of what came after it`, async (t) => {
    const { services } = await openTestAccounts(t)
    // As a command has looked it up that asks for the password now.
    const { account: stale } = await makeAccount(services)
    await changeKeys({ services, account: stale, newPassword: Buffer.from(NEW) })
    await appendMail(services, NEW)
    const folders = await readdir(dirname(stale.folder))
    await assertRefused(
      resetAccount({ services, account: stale, newPassword: Buffer.from('third secret') }),
      'BUSY'
    )
    assert.deepEqual(await readInbox(services, NEW), [MAIL.toString()])
    assert.deepEqual(await readdir(dirname(stale.folder)), folders, 'no folder is left')
    await assertRefused(logIn(services, 'third secret'), 'AUTHENTICATION_FAILED')
  })

test('what a login finds out about the file of before a reset is not recorded for the new one', async (t) => {
  const host = await openTestAccounts(t, { 'storage.cipher': 'aegis-256' })
  const { account } = await makeAccount(host.services)
  await host.services.close()
  // As after a restore of a backup that does not say.
  tamper(host.data, 'UPDATE accounts SET cipher = NULL')
  const services = await host.open({ 'storage.cipher': 'chacha20' })
  const { masterKey, account: before } = await logIn(services, OLD)
  const { directory } = services
  const reset = () => resetAccount({ services, account, newPassword: Buffer.from(NEW) })
  const recordCipher = async (
    /** @type {Parameters<typeof directory.recordCipher>} */ ...found
  ) => {
    await reset()
    await directory.recordCipher(...found)
  }
  const overtaken = { ...services, directory: { ...directory, recordCipher } }
  const store = await openStore({
    services: overtaken,
    account: before,
    masterKey,
    onAlert: () => {}
  })
  await store.close()
  masterKey.dispose()
  assert.equal((await directory.findAccount(account.id))?.cipher, 'chacha20')
  assert.deepEqual(await readInbox(services, NEW), [])
})

test('a login gets in also where the directory does not take what it has found out', async (t) => {
  const host = await openTestAccounts(t)
  const { account } = await makeAccount(host.services)
  await appendMail(host.services, OLD)
  await host.services.close()
  tamper(host.data, 'UPDATE accounts SET cipher = NULL')
  const services = await host.open()
  const recordCipher = async () => {
    throw new MailError('DISK_FULL')
  }
  const full = { ...services, directory: { ...services.directory, recordCipher } }
  assert.deepEqual(await readInbox(full, OLD), [MAIL.toString()])
  assert.equal((await services.directory.findAccount(account.id))?.cipher, null)
})

test('a mailbox that is begun anew is recorded with its cipher in the same moment', async (t) => {
  const { services: before, open } = await openTestAccounts(t)
  const { account } = await makeAccount(before)
  assert.equal(account.cipher, 'chacha20')
  const services = await open({ 'storage.cipher': 'aegis-256' })
  const recordCipher = async () => {
    throw new MailError('BUSY')
  }
  await resetAccount({
    services: { ...services, directory: { ...services.directory, recordCipher } },
    account,
    newPassword: Buffer.from(NEW)
  })
  assert.deepEqual(await readInbox(services, NEW), [])
})

test('giving the mail up in vain leaves nothing behind', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const failing = {
    ...services,
    directory: {
      ...services.directory,
      replaceMailbox: async () => {
        throw new MailError('DISK_FULL')
      }
    }
  }
  const newPassword = Buffer.from(NEW)
  await assertRefused(resetAccount({ services: failing, account, newPassword }), 'DISK_FULL')
  assert.deepEqual(await readdir(dirname(account.folder)), [account.id])
})

test('where the disk fails and nobody knows whether the mail is given up, the new mailbox stays', async (t) => {
  const { services } = await openTestAccounts(t)
  const { directory } = services
  const { account } = await makeAccount(services)
  /** @type {typeof directory.replaceMailbox} */
  const replaceMailbox = async (...mailbox) => {
    await directory.replaceMailbox(...mailbox)
    throw new MailError('NOT_DURABLE')
  }
  const failing = { ...services, directory: { ...directory, replaceMailbox } }
  const newPassword = Buffer.from(NEW)
  await assertRefused(resetAccount({ services: failing, account, newPassword }), 'NOT_DURABLE')
  assert.deepEqual(await readInbox(services, NEW), [])
})

test('losing the mail makes an empty mailbox under a new key, and destroys the old one', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await appendMail(services, OLD)
  await deliver(account)
  const old = await services.directory.listCredentials(account.id)
  const copy = `${account.folder}-copy`
  await cp(account.folder, copy, { recursive: true })

  const reset = await resetAccount({ services, account, newPassword: Buffer.from(NEW) })
  assert.equal(reset.isRemoved, true)
  assert.equal(existsSync(account.folder), false)
  assert.notEqual(reset.account.folder, account.folder)
  assert.equal(reset.account.keyEpoch, 2)
  for (const typed of [OLD, app.text]) {
    await assertRefused(logIn(services, typed), 'AUTHENTICATION_FAILED')
  }
  await assertRefused(change(services, reset.account, recoveryCode), 'AUTHENTICATION_FAILED')
  for (const { wrappedKey } of old) {
    assert.equal(isOnDisk(join(data, 'directory.db'), wrappedKey), false)
  }
  assert.deepEqual(await readInbox(services, NEW), [])
  await deliver(reset.account)
  assert.equal((await drain(services, NEW)).delivered, 1)

  // A backup of the old files does not open with what the directory has now.
  await rm(reset.account.folder, { recursive: true })
  await cp(copy, reset.account.folder, { recursive: true })
  await assertRefused(readInbox(services, NEW), 'KEY_REJECTED')
  await rm(copy, { recursive: true })
})
