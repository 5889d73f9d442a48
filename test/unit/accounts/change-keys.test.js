import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAppPassword, listAppPasswords } from '../../../src/accounts/app-passwords.js'
import { revokeAppPassword } from '../../../src/accounts/app-passwords.js'
import { changePassword, resetAccount } from '../../../src/accounts/change-password.js'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { deleteAccount, removePendingFolders } from '../../../src/accounts/remove-account.js'
import { openSealIdentities } from '../../../src/accounts/seal-identity.js'
import { lockShared } from '../../../src/database/lock.js'
import { drainSpool } from '../../../src/delivery/drain.js'
import { writeSpoolFile } from '../../../src/delivery/spool.js'
import { isMailError } from '../../../src/errors.js'
import { logIn, makeAccount, openTestAccounts, tamper, withStore } from '../../helpers/accounts.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import { appendAll } from '../../helpers/temporary-store.js'

/**
 * @typedef {import('../../../src/accounts/services.js').AccountServices} AccountServices
 * @typedef {import('../../../src/accounts/directory-port.js').Account} Account
 * @typedef {import('../../../src/errors.js').ErrorCode} ErrorCode
 */

const MAIL = Buffer.from('From: bert@example.org\r\nSubject: hello\r\n\r\nStays as it is.\r\n')
const OLD = 'old secret'
const NEW = 'new secret'

/**
 * @param {Promise<unknown>} attempt
 * @param {ErrorCode} code
 */
async function assertRefused(attempt, code) {
  await assert.rejects(attempt, (error) => {
    assert.ok(isMailError(error, code), `${error}`)
    return true
  })
}

/**
 * @param {AccountServices} services
 * @param {string} password
 */
async function appendMail(services, password) {
  const { account, masterKey } = await logIn(services, password)
  await withStore(services, account, masterKey, (store) =>
    appendAll(store, 'INBOX', [{ bytes: MAIL }])
  )
  masterKey.dispose()
}

/**
 * @param {AccountServices} services
 * @param {string} password
 * @returns {Promise<string[]>} the messages of INBOX
 */
async function readInbox(services, password) {
  const { account, masterKey } = await logIn(services, password)
  try {
    return await withStore(services, account, masterKey, async (store) => {
      const { mailbox, view } = await store.openView('INBOX')
      const uids = [...view.uids.subarray(0, view.length)]
      const messages = []
      for (const { contentId } of await store.readMessages(mailbox.id, uids, { row: true })) {
        const chunks = []
        for await (const chunk of store.readContent(contentId)) chunks.push(chunk)
        messages.push(Buffer.concat(chunks).toString())
      }
      store.closeView(view)
      return messages
    })
  } finally {
    masterKey.dispose()
  }
}

/**
 * @param {Account} account
 * @param {Buffer} [publicKey]
 */
function deliver(account, publicKey = account.sealPublicKey) {
  return writeSpoolFile({
    spoolFolder: join(account.folder, 'spool'),
    publicKey,
    envelope: {
      sender: 'bert@example.org',
      recipient: account.address,
      receivedAtMs: 1_700_000_000_000
    },
    message: [MAIL]
  })
}

/**
 * @param {AccountServices} services
 * @param {string} password
 */
async function drain(services, password) {
  const { account, masterKey } = await logIn(services, password)
  const identities = await openSealIdentities({
    directory: services.directory,
    accountId: account.id,
    masterKey
  })
  const result = await withStore(services, account, masterKey, (store) =>
    drainSpool({
      spoolFolder: join(account.folder, 'spool'),
      identities,
      store,
      logger: services.logger
    })
  )
  for (const identity of identities) identity.destroy()
  masterKey.dispose()
  return result
}

/**
 * @param {AccountServices} services
 * @param {Account} account
 * @param {string} oldSecret
 * @param {string} [newPassword]
 */
function change(services, account, oldSecret, newPassword = NEW) {
  return changePassword({
    services,
    account,
    oldSecret: Buffer.from(oldSecret),
    newPassword: Buffer.from(newPassword)
  })
}

/**
 * @param {AccountServices} services
 * @param {Account} account
 * @param {string} [password]
 */
function rekey(services, account, password = OLD) {
  return rekeyAccount({ services, account, password: Buffer.from(password) })
}

/** Files of a mailbox that nobody has open. */
const RESTING = ['mail.db', 'mail.lock', 'spool']

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
  const derivations = services.argon2.stats.derivations

  assert.deepEqual(await change(services, account, OLD), { recoveryCode: null })
  assert.equal(services.argon2.stats.derivations - derivations, 2, 'one to check, one to wrap')
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

test('files that are in use are removed later, and the address is free at once', async (t) => {
  const { services, open } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const lock = await lockShared(account.folder, { timeoutMs: 1000 })
  await services.directory.deleteAccount(account.id)
  const { left } = await removePendingFolders({ services, timeoutMs: 50 })
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
  for (let index = 0; index < 100; index++) await create('📱'.repeat(100))
  await assertRefused(create(), 'LIMIT')
  await assertRefused(create('x'.repeat(101)), 'LIMIT')
})

test('a rekey keeps all mail, and mail sealed before it still opens', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await appendMail(services, OLD)
  await deliver(account)
  const old = await services.directory.listCredentials(account.id)
  const before = await logIn(services, OLD)

  const { recoveryCode: nextCode, revoked } = await rekey(services, account)
  assert.deepEqual(
    revoked.map(({ id }) => id),
    [app.appPassword.id]
  )
  const after = await logIn(services, OLD)
  assert.notDeepEqual(after.masterKey.bytes, before.masterKey.bytes)
  assert.equal(after.account.keyEpoch, 2)
  assert.notDeepEqual(after.account.sealPublicKey, account.sealPublicKey)
  await assertRefused(
    withStore(services, account, before.masterKey, async () => {}),
    'KEY_REJECTED'
  )
  await assertRefused(logIn(services, app.text), 'AUTHENTICATION_FAILED')
  await assertRefused(change(services, account, recoveryCode), 'AUTHENTICATION_FAILED')
  for (const { wrappedKey } of old) {
    assert.equal(isOnDisk(join(data, 'directory.db'), wrappedKey), false)
  }
  assert.deepEqual((await readdir(account.folder)).sort(), RESTING)

  await deliver(after.account)
  // A delivery that had the old public key in its hand.
  await deliver(account)
  assert.equal((await drain(services, OLD)).delivered, 3)
  assert.deepEqual(await readInbox(services, OLD), Array(4).fill(MAIL.toString()))
  await change(services, after.account, nextCode)
  assert.equal((await readInbox(services, NEW)).length, 4)

  const now = /** @type {Account} */ (await services.directory.findAccount(account.id))
  await rekey(services, now, NEW)
  await deliver(account)
  await deliver(after.account)
  assert.equal((await drain(services, NEW)).delivered, 2)
})

test('an old copy of directory, pepper and password opens nothing after a rekey', async (t) => {
  const { services, open, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await services.close()
  const copy = `${data}-copy`
  t.after(() => rm(copy, { recursive: true, force: true }))
  await cp(data, copy, { recursive: true })
  const today = await open()
  await rekey(today, account)
  await today.close()
  await rm(join(copy, 'mail'), { recursive: true })
  await cp(join(data, 'mail'), join(copy, 'mail'), { recursive: true })
  const theirs = await open({ data: copy, 'auth.pepperFile': join(copy, 'pepper') })
  await assertRefused(readInbox(theirs, OLD), 'KEY_REJECTED')
})

test('only the password rekeys, and only while nobody has the mailbox open', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  await assertRefused(rekey(services, account, 'wrong'), 'AUTHENTICATION_FAILED')
  await assertRefused(rekey(services, account, recoveryCode), 'AUTHENTICATION_FAILED')
  assert.equal(await services.directory.findRekey(account.id), null)
  assert.equal((await logIn(services, OLD)).account.keyEpoch, 1)
})

/**
 * The services with one step of the directory that never returns to its caller, as in a crash.
 *
 * @param {AccountServices} services
 * @param {'beginRekey' | 'finishRekey'} step
 * @param {'before' | 'after'} when
 * @returns {AccountServices}
 */
function crashing(services, step, when) {
  const { directory } = services
  return {
    ...services,
    directory: {
      ...directory,
      [step]: async (/** @type {any} */ argument) => {
        if (when === 'after') await directory[step](argument)
        throw new Error('the power is gone')
      }
    }
  }
}

for (const [step, when, epoch] of /** @type {const} */ ([
  ['beginRekey', 'before', 1],
  ['beginRekey', 'after', 1],
  ['finishRekey', 'before', 2],
  ['finishRekey', 'after', 2]
])) {
  test(`a crash ${when} ${step} loses no mail and no way in`, async (t) => {
    const { services } = await openTestAccounts(t)
    const { account } = await makeAccount(services)
    await appendMail(services, OLD)
    services.unlocker.forget(account.id)
    await assert.rejects(rekey(crashing(services, step, when), account), /power/)
    assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
    assert.equal((await logIn(services, OLD)).account.keyEpoch, epoch)
    assert.equal(await services.directory.findRekey(account.id), null)
    assert.deepEqual((await readdir(account.folder)).sort(), RESTING)
    const now = /** @type {Account} */ (await services.directory.findAccount(account.id))
    await rekey(services, now)
    assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
  })
}

test('an app password that a finished rekey revoked does not get in through it', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await assert.rejects(rekey(crashing(services, 'finishRekey', 'before'), account), /power/)
  await assertRefused(logIn(services, app.text), 'AUTHENTICATION_FAILED')
  assert.equal((await logIn(services, OLD)).account.keyEpoch, 2)
})

test('a login during a rekey is told to come back', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await assert.rejects(rekey(crashing(services, 'beginRekey', 'after'), account), /power/)
  // Whoever rekeys holds the lock exclusively; a shared one is in its way just as well.
  const lock = await lockShared(account.folder, { timeoutMs: 1000 })
  await assertRefused(logIn(services, OLD), 'BUSY')
  lock.release()
  ;(await logIn(services, OLD)).masterKey.dispose()
})

test('while a rekey is pending no credential is added or changed beside it', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory } = services
  await assert.rejects(rekey(crashing(services, 'beginRekey', 'after'), account), /power/)
  const [password] = await directory.listCredentials(account.id)
  assert.ok(password)
  await assertRefused(directory.insertCredential({ ...password, id: 'new' }), 'BUSY')
  await assertRefused(directory.replaceCredentials([password], { version: 1 }), 'BUSY')
  await directory.cancelRekey(account.id)
  await assertRefused(directory.insertCredential({ ...password, id: 'new', keyEpoch: 9 }), 'BUSY')
  const pending = {
    accountId: account.id,
    wrappedNextKey: MAIL,
    startedAtMs: 1,
    next: {
      keyEpoch: 2,
      sealRecipient: account.sealRecipient,
      sealPublicKey: account.sealPublicKey,
      credentials: [{ ...password, version: 7 }],
      sealIdentities: []
    }
  }
  await assertRefused(directory.beginRekey(pending), 'BUSY')
})

test('a rekey whose file cannot be written is forgotten: all is as it was', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await appendMail(services, OLD)
  // A folder of that name stands in the way of the copy.
  await mkdir(join(account.folder, 'mail.db.next'))
  await assert.rejects(rekey(services, account))
  assert.equal(await services.directory.findRekey(account.id), null)
  await rmdir(join(account.folder, 'mail.db.next'))
  assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
  assert.equal((await logIn(services, OLD)).account.keyEpoch, 1)
  await rekey(services, account)
  assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
})

test('a rekey that was begun with another key, or edited, is refused', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await assert.rejects(rekey(crashing(services, 'beginRekey', 'after'), account), /power/)
  tamper(data, 'UPDATE rekeys SET wrapped_next_key = zeroblob(61)')
  await assertRefused(logIn(services, OLD), 'ACCOUNT_DAMAGED')
})

test('keys are not changed while an interrupted rekey is only just finished', async (t) => {
  for (const work of [
    (/** @type {AccountServices} */ services, /** @type {Account} */ account) =>
      change(services, account, OLD),
    rekey,
    (/** @type {AccountServices} */ services, /** @type {Account} */ account) =>
      createAppPassword({ services, account, secret: Buffer.from(OLD), label: '' })
  ]) {
    const { services } = await openTestAccounts(t)
    const { account } = await makeAccount(services)
    await assert.rejects(rekey(crashing(services, 'finishRekey', 'before'), account), /power/)
    await assertRefused(work(services, account), 'BUSY')
    const now = /** @type {Account} */ (await services.directory.findAccount(account.id))
    await work(services, now)
  }
})
