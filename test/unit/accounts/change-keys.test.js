import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAppPassword, listAppPasswords } from '../../../src/accounts/app-passwords.js'
import { revokeAppPassword } from '../../../src/accounts/app-passwords.js'
import { resetAccount } from '../../../src/accounts/change-password.js'
import { openStore } from '../../../src/accounts/open-store.js'
import { mailboxFolder } from '../../../src/accounts/provision.js'
import { renewRecoveryCode } from '../../../src/accounts/recovery-code.js'
import {
  deleteAccount,
  keepRemoving,
  removePendingFolders
} from '../../../src/accounts/remove-account.js'
import { lockShared } from '../../../src/database/lock.js'
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

test('a new password keeps all mail and every other credential, and the old one is gone', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const app = await createAppPassword({
    services,
    account,
    secret: Buffer.from(OLD),
    label: 'phone'
  })
  await appendMail(services, OLD)
  const before = await services.directory.findSingleCredential(account.id, 'password')
  const derivations = services.argon2.figures.derivations

  assert.deepEqual(await change(services, account, OLD), { recoveryCode: null })
  assert.equal(services.argon2.figures.derivations - derivations, 2, 'one to check, one to wrap')
  const after = await services.directory.findSingleCredential(account.id, 'password')
  assert.equal(after?.id, before?.id)
  assert.equal(after?.version, Number(before?.version) + 1, 'live sessions notice')
  assert.equal(isOnDisk(join(data, 'directory.db'), before?.wrappedKey ?? MAIL), false)

  await assertRefused(logIn(services, OLD), 'AUTHENTICATION_FAILED')
  assert.deepEqual(await readInbox(services, NEW), [MAIL.toString()])
  ;(await logIn(services, app.text)).masterKey.dispose()
  await change(services, account, recoveryCode, 'third secret')
  assert.deepEqual(await readInbox(services, 'third secret'), [MAIL.toString()])
})

test('the recovery code changes the password, and is used up by that', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const changed = await change(services, account, recoveryCode)
  await assertRefused(change(services, account, recoveryCode), 'AUTHENTICATION_FAILED')
  assert.match(String(changed.recoveryCode), /^llrec-/)
  await change(services, account, String(changed.recoveryCode), 'third secret')
  ;(await logIn(services, 'third secret')).masterKey.dispose()
})

test('neither a wrong password nor an app password changes the password', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await assertRefused(change(services, account, 'wrong'), 'AUTHENTICATION_FAILED')
  await assertRefused(change(services, account, app.text), 'AUTHENTICATION_FAILED')
  await assertRefused(
    createAppPassword({ services, account, secret: Buffer.from(app.text), label: '' }),
    'AUTHENTICATION_FAILED'
  )
  ;(await logIn(services, OLD)).masterKey.dispose()
})

test('a password that no login could present is refused', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  for (const password of ['', 'nul\0', 'x'.repeat(4097), recoveryCode]) {
    await assertRefused(change(services, account, OLD, password), 'PASSWORD_REFUSED')
  }
})

test('of two changes side by side one wins and the other says so', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const results = await Promise.allSettled([
    change(services, account, OLD, 'first'),
    change(services, account, OLD, 'second')
  ])
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const winner = results[0]?.status === 'fulfilled' ? 'first' : 'second'
  ;(await logIn(services, winner)).masterKey.dispose()
})

test('of two new recovery codes that are asked for side by side one is made, and opens the account', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const renew = () => renewRecoveryCode({ services, account, secret: Buffer.from(recoveryCode) })
  const results = await Promise.allSettled([renew(), renew()])
  const codes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const refusals = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : []
  )
  assert.deepEqual(
    refusals.map(({ code }) => code),
    ['BUSY']
  )
  await assertRefused(change(services, account, recoveryCode), 'AUTHENTICATION_FAILED')
  await change(services, account, String(codes[0]), 'by the code')
  ;(await logIn(services, 'by the code')).masterKey.dispose()
})

for (const [what, secretOf, ask] of /** @type {const} */ ([
  ['an app password', () => OLD, createAppPassword],
  ['a recovery code', () => OLD, renewRecoveryCode],
  ['a recovery code', (/** @type {string} */ code) => code, renewRecoveryCode]
]))
  test(`no secret that was changed meanwhile makes ${what}`, async (t) => {
    const { services } = await openTestAccounts(t)
    const { account, recoveryCode } = await makeAccount(services)
    const { directory } = services
    const typed = secretOf(recoveryCode)
    /** @type {string | null} */
    let nextCode = null
    // The derivation may have to wait, for as long as others keep the queue full.
    const overtaken = async (
      /** @type {Parameters<typeof directory.findSingleCredential>} */ ...which
    ) => {
      const found = await directory.findSingleCredential(...which)
      nextCode = (await change(services, account, typed)).recoveryCode
      return found
    }
    t.mock.method(directory, 'findSingleCredential', overtaken, { times: 1 })
    const wish = { services, account, secret: Buffer.from(typed), label: 'phone' }
    await assertRefused(ask(wish), 'BUSY')
    assert.deepEqual(await listAppPasswords({ services, account }), [])
    await change(services, account, nextCode ?? recoveryCode, 'third secret')
  })

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

test('a revoked app password is refused, and its wrap is gone', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  ;(await logIn(services, app.text)).masterKey.dispose()
  const row = await services.directory.findCredential(app.appPassword.id)
  assert.deepEqual(
    (await listAppPasswords({ services, account })).map(({ id, label }) => ({ id, label })),
    [{ id: app.appPassword.id, label: 'phone' }]
  )
  const revoke = () => revokeAppPassword({ services, account, credentialId: app.appPassword.id })
  await revoke()
  await assertRefused(logIn(services, app.text), 'AUTHENTICATION_FAILED')
  await assertRefused(revoke(), 'CREDENTIAL_NOT_FOUND')
  assert.equal(isOnDisk(join(data, 'directory.db'), row?.wrappedKey ?? MAIL), false)
  const password = await services.directory.findSingleCredential(account.id, 'password')
  await assertRefused(
    revokeAppPassword({ services, account, credentialId: String(password?.id) }),
    'CREDENTIAL_NOT_FOUND'
  )
})

test('an account has a bounded number of app passwords, with bounded labels', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const create = (label = '') =>
    createAppPassword({ services, account, secret: Buffer.from(recoveryCode), label })
  for (let index = 0; index < 99; index++) await create('📱'.repeat(100))
  // Two at once, of which there is room for one.
  await assertRefused(Promise.all([create(), create()]), 'LIMIT')
  assert.equal((await listAppPasswords({ services, account })).length, 100)
  await assertRefused(create(), 'LIMIT')
  await assertRefused(create('x'.repeat(101)), 'LIMIT')
})
