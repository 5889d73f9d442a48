import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { deriveSealKey } from '../../../src/crypto/key-derivation.js'
import { associatedData, unwrapKey, wrapKey } from '../../../src/crypto/key-wrap.js'
import { MailError } from '../../../src/errors.js'
import { logIn, makeAccount, openTestAccounts, tamper, withStore } from '../../helpers/accounts.js'
import { damagePage } from '../../helpers/damage-page.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import {
  MAIL,
  NEW,
  OLD,
  RESTING,
  appendMail,
  assertRefused,
  change,
  crashing,
  deliver,
  drain,
  readInbox,
  rekey
} from '../../helpers/change-keys.js'

/** @import { Account } from '../../../src/accounts/directory-port.js' */

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

test('a sealing identity of before a rekey does not come to stand for the current one', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await rekey(services, account)
  const [current, former] = await services.directory.listSealIdentities(account.id)
  assert.deepEqual([current?.number, former?.recipient], [2, account.sealRecipient])
  // Whoever kept the old directory and a credential of then has this one's secret.
  tamper(data, 'DELETE FROM seal_identities WHERE number = 2')
  tamper(data, 'UPDATE account_seals SET recipient = ?, public_key = ?', [
    account.sealRecipient,
    account.sealPublicKey
  ])
  await assertRefused(logIn(services, OLD), 'KEYS_CONTRADICT')
})

test('mail that was sealed before a rekey opens with an identity as earlier releases have kept it', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await deliver(account)
  const before = await logIn(services, OLD)
  const [first] = await services.directory.listSealIdentities(account.id)
  assert.ok(first)
  const { number, recipient } = first
  const associated = (/** @type {number} */ keyEpoch) =>
    associatedData('seal identity', [account.id, number, recipient, keyEpoch])
  const old = { kek: deriveSealKey(before.masterKey.bytes), wrapped: first.wrappedSecret }
  using secret = unwrapKey({ ...old, associated: associated(1) })
  await rekey(services, account)
  const { masterKey } = await logIn(services, OLD)
  const kek = deriveSealKey(masterKey.bytes)
  const wrapped = wrapKey({ kek, key: secret.bytes, associated: associated(2) })
  tamper(data, 'UPDATE seal_identities SET wrapped_secret = ? WHERE number = 1', [wrapped])
  assert.equal((await drain(services, OLD)).delivered, 1)
  const now = /** @type {Account} */ (await services.directory.findAccount(account.id))
  await rekey(services, now)
  await deliver(account)
  assert.equal((await drain(services, OLD)).delivered, 1)
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

for (const [step, when, epoch] of /** @type {const} */ ([
  ['beginRekey', 'after', 1],
  ['finishRekey', 'before', 2]
])) {
  test(`after a crash ${when} ${step}, a first page that cannot be read costs neither key`, async (t) => {
    const { services } = await openTestAccounts(t)
    const { account } = await makeAccount(services)
    await appendMail(services, OLD)
    services.unlocker.forget(account.id)
    await assert.rejects(rekey(crashing(services, step, when), account), /power/)
    const file = join(account.folder, 'mail.db')
    damagePage(file, 1)
    await assertRefused(logIn(services, OLD), 'ACCOUNT_DAMAGED')
    await assertRefused(rekey(services, account), 'ACCOUNT_DAMAGED')
    // The same once more gives back what was there.
    damagePage(file, 1)
    assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
    assert.equal((await logIn(services, OLD)).account.keyEpoch, epoch)
    assert.equal(await services.directory.findRekey(account.id), null)
  })
}

test('where the directory takes the new rows of a rekey later, its recovery code is told all the same', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await appendMail(services, OLD)
  services.unlocker.forget(account.id)
  const finishRekey = async () => {
    throw new MailError('DISK_FULL')
  }
  const full = { ...services, directory: { ...services.directory, finishRekey } }
  const { recoveryCode, revoked, isFinished } = await rekey(full, account)
  assert.equal(isFinished, false)
  assert.deepEqual(
    revoked.map(({ id }) => id),
    [app.appPassword.id]
  )
  assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
  await assertRefused(logIn(services, app.text), 'AUTHENTICATION_FAILED')
  const now = /** @type {Account} */ (await services.directory.findAccount(account.id))
  await change(services, now, recoveryCode)
  assert.deepEqual(await readInbox(services, NEW), [MAIL.toString()])
  const events = await services.directory.pageAudit({ accountId: account.id, limit: 20 })
  assert.ok(!events.some(({ action }) => action === 'account-rekey'))
})

test('a rekey that fails at a file which opens with neither key forgets none', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await appendMail(services, OLD)
  const file = join(account.folder, 'mail.db')
  damagePage(file, 1)
  await assertRefused(rekey(services, account), 'ACCOUNT_DAMAGED')
  assert.ok(await services.directory.findRekey(account.id))
  damagePage(file, 1)
  assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
  assert.equal((await logIn(services, OLD)).account.keyEpoch, 1)
})

test('an app password that a finished rekey revoked does not get in through it', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await assert.rejects(rekey(crashing(services, 'finishRekey', 'before'), account), /power/)
  await assertRefused(logIn(services, app.text), 'AUTHENTICATION_FAILED')
  assert.equal((await logIn(services, OLD)).account.keyEpoch, 2)
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
