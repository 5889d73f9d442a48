/**
 * A rekey beside logins, other rekeys, resets and restores: nobody undoes what another has done.
 */
import assert from 'node:assert/strict'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { resetAccount } from '../../../src/accounts/change-password.js'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { deriveDatabaseKey } from '../../../src/crypto/key-derivation.js'
import { lockShared } from '../../../src/database/lock.js'
import { rewriteDatabase } from '../../../src/database/rewrite.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import {
  MAIL,
  NEW,
  OLD,
  appendMail,
  assertRefused,
  change,
  crashing,
  readInbox,
  rekey
} from '../../helpers/change-keys.js'

/** @import { Account } from '../../../src/accounts/directory-port.js' */
/** @import { AccountServices } from '../../../src/accounts/services.js' */

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

for (const step of /** @type {const} */ (['findSingleCredential', 'findRekey'])) {
  test(`a login that is overtaken by a whole rekey at ${step} gets in, without an alarm`, async (t) => {
    const { services, lines } = await openTestAccounts(t)
    const { account } = await makeAccount(services)
    const { directory } = services
    const once = { times: 1 }
    const overtaken = async (/** @type {[any, any]} */ ...input) => {
      await rekey(services, account)
      return await directory[step](...input)
    }
    t.mock.method(directory, step, overtaken, once)
    const unlocked = await logIn(services, OLD)
    unlocked.masterKey.dispose()
    assert.equal(unlocked.account.keyEpoch, 2)
    await directory.flush()
    const actions = (await directory.pageAudit({ limit: 100 })).map(({ action }) => action)
    assert.equal(actions.includes('key-alarm'), false)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      []
    )
  })
}

test('a rekey that waits for a mailbox which is deleted meanwhile does not call it damaged', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const deleted = async (/** @type {string} */ accountId) => {
    const restore = await services.directory.findRestore(accountId)
    await deleteAccount({ services, account })
    return restore
  }
  t.mock.method(services.directory, 'findRestore', deleted, { times: 1 })
  await assertRefused(rekey(services, account), 'ACCOUNT_NOT_FOUND')
})

test('of two rekeys at once the one that comes too late is told to come back', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const overtaken = async (/** @type {string} */ accountId) => {
    await rekey(services, account)
    return await services.directory.listSealIdentities(accountId)
  }
  t.mock.method(services.directory, 'listSealIdentities', overtaken, { times: 1 })
  await assertRefused(rekey(services, account), 'BUSY')
  assert.equal((await logIn(services, OLD)).account.keyEpoch, 2)
})

test('while a rekey is pending no credential is added or changed beside it', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory } = services
  await assert.rejects(rekey(crashing(services, 'beginRekey', 'after'), account), /power/)
  const [password] = await directory.listCredentials(account.id)
  assert.ok(password)
  await assertRefused(directory.insertCredential({ ...password, id: 'new' }, password), 'BUSY')
  await assertRefused(directory.replaceCredentials([password], { version: 1 }), 'BUSY')
  await directory.cancelRekey(account.id, 2)
  const late = { ...password, id: 'new', keyEpoch: 9 }
  await assertRefused(directory.insertCredential(late, password), 'BUSY')
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

test('a rekey that is overtaken by a reset leaves the new mailbox as it is', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory } = services
  const overtaken = {
    ...services,
    directory: {
      ...directory,
      beginRekey: async (/** @type {Parameters<typeof directory.beginRekey>[0]} */ request) => {
        await resetAccount({ services, account, newPassword: Buffer.from(NEW) })
        await directory.beginRekey(request)
      }
    }
  }
  await assertRefused(rekey(overtaken, account), 'BUSY')
  assert.deepEqual(await readInbox(services, NEW), [])
})

// It may come while the rekey waits for the mailbox, or makes its next rows; what comes back is under the present key.
test('a rekey leaves a mailbox alone for which a restore was asked meanwhile', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory } = services
  await appendMail(services, OLD)
  services.unlocker.forget(account.id)
  const restore = { accountId: account.id, generation: 'g', cipher: account.cipher }
  const folders = { staged: 'restore-g', replaced: 'replaced-g' }
  const overtaken = {
    ...services,
    directory: {
      ...directory,
      beginRekey: async (/** @type {Parameters<typeof directory.beginRekey>[0]} */ request) => {
        await directory.beginRestore({ ...restore, ...folders, state: 'asked', requestedAtMs: 1 })
        await directory.beginRekey(request)
      }
    }
  }
  await assertRefused(rekey(overtaken, account), 'BUSY')
  assert.equal(await directory.findRekey(account.id), null)
  await directory.advanceRestore(account.id, { from: 'asked', to: null })
  assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
})

for (const [what, step, damaged] of /** @type {const} */ ([
  ['finishes', 'finishRekey', 'second'],
  ['is given up', 'cancelRekey', 'first']
]))
  test(`a rekey of the mailbox of before a reset that ${what} leaves that of the new one as it is`, async (t) => {
    const { services } = await openTestAccounts(t)
    const { directory } = services
    const { account } = await makeAccount(services)
    // A folder in the way of the copy: it cannot be made.
    const hinder = (/** @type {Account} */ { folder }) => mkdir(join(folder, 'mail.db.next'))
    if (damaged === 'first') await hinder(account)
    const { promise: atEnd, resolve: onEnd } = Promise.withResolvers()
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers()
    const slow = async (/** @type {[string, number]} */ ...given) => {
      onEnd(undefined)
      await goesOn
      await directory[step](...given)
    }
    const first = rekey({ ...services, directory: { ...directory, [step]: slow } }, account)
    const firstEnded = first.then(
      () => null,
      (error) => error
    )
    await atEnd
    await resetAccount({ services, account, newPassword: Buffer.from(NEW) })
    await appendMail(services, NEW)
    services.unlocker.forget(account.id)
    const now = /** @type {Account} */ (await directory.findAccount(account.id))
    if (damaged === 'second') await hinder(now)
    const beginRekey = async (
      /** @type {Parameters<typeof directory.beginRekey>[0]} */ request
    ) => {
      await directory.beginRekey(request)
      goOn(undefined)
      assert.ok(await firstEnded, 'it says that it has come too late')
    }
    const second = rekey({ ...services, directory: { ...directory, beginRekey } }, now, NEW)
    if (damaged === 'second') await assert.rejects(second)
    else await second
    assert.deepEqual(await readInbox(services, NEW), [MAIL.toString()])
    assert.equal(await directory.findRekey(account.id), null)
  })

test('a rekey that puts a restored file in its place first knows that by its own cipher', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await appendMail(services, OLD)
  const { masterKey } = await logIn(services, OLD)
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  services.unlocker.forget(account.id)
  const staged = join(account.folder, 'restore-g')
  await mkdir(staged)
  await cp(join(account.folder, 'mail.db'), join(staged, 'mail.db'))
  await rewriteDatabase(join(staged, 'mail.db'), {
    from: { cipher: account.cipher, key },
    to: { cipher: 'aegis-256', key }
  })
  await services.directory.beginRestore({
    accountId: account.id,
    generation: 'g',
    state: 'asked',
    staged: 'restore-g',
    replaced: 'replaced-g',
    cipher: 'aegis-256',
    requestedAtMs: 1
  })
  await rekey(services, account)
  assert.deepEqual(await readInbox(services, OLD), [MAIL.toString()])
  assert.equal((await services.directory.findAccount(account.id))?.cipher, 'aegis-256')
})
