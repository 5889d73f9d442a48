/**
 * What every directory keeps of keys: credentials, sealing identities, rekeys, and that nothing of them stays.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isMailError } from '../../../../src/errors.js'
import { credential, newAccount } from '../../../helpers/directory-rows.js'

/** @typedef {import('../../../../src/accounts/directory-port.js').Credential} Credential */

/** @typedef {import('./index.js').ContractOptions} ContractOptions */

/** @param {ContractOptions} options */
export function keysContract({ name, setUp }) {
  test(`${name}: a credential that changed meanwhile is not replaced`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    const [old] = /** @type {[Credential]} */ (input.keys.credentials)
    const late = { ...old, wrappedKey: randomBytes(61) }
    assert.equal(await directory.replaceCredentials([late], { version: 9 }), false)
    await directory.deleteCredential(old.id)
    assert.equal(await directory.replaceCredentials([late], { version: 1 }), false)
    assert.equal(await directory.findCredential(old.id), null)
  })

  test(`${name}: a seal key is put right where it still is what was found, and nowhere else`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    const { sealRecipient: recipient, sealPublicKey: publicKey } = input.keys
    await directory.createAccount(input)
    const right = { recipient: 'age1pq1right', publicKey: randomBytes(1216) }
    const late = { found: { recipient, publicKey: right.publicKey }, right }
    await directory.replaceSealKey(input.id, late)
    assert.deepEqual((await directory.findAccount(input.id))?.sealPublicKey, publicKey)
    await directory.replaceSealKey(input.id, { found: { recipient, publicKey }, right })
    const account = await directory.findAccount(input.id)
    assert.deepEqual(
      [account?.sealRecipient, account?.sealPublicKey],
      [right.recipient, right.publicKey]
    )
  })

  test(`${name}: a recovery code that changes the password does not do so beside another change of it`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    const [password, recovery] = /** @type {[Credential, Credential]} */ (input.keys.credentials)
    const [first, late, nextRecovery] = [password, password, recovery].map((row) => ({
      ...row,
      version: 2,
      wrappedKey: randomBytes(61)
    }))
    assert.ok(first && late && nextRecovery)
    assert.equal(await directory.replaceCredentials([first], { version: 1 }), true)
    const both = [nextRecovery, late]
    assert.equal(await directory.replaceCredentials(both, { version: 1 }), false)
    assert.deepEqual(await directory.findCredential(password.id), first)
    assert.deepEqual(await directory.findCredential(recovery.id), recovery)
    const third = { ...late, version: 3 }
    assert.equal(await directory.replaceCredentials([nextRecovery, third], { version: 1 }), true)
    assert.deepEqual(await directory.findCredential(password.id), third)
  })

  test(`${name}: credentials are found by id, kind and lookup, replaced and revoked`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    const [password, recovery] = /** @type {[Credential, Credential]} */ (input.keys.credentials)
    const lookup = randomBytes(8)
    const app = credential(input.id, {
      kind: 'app-password',
      argon2: null,
      pepperId: null,
      label: 'phone',
      scope: 'read-only',
      expiresAtMs: 99,
      createdAtMs: 2,
      lookup
    })
    const late = { ...app, id: 'late', lookup: randomBytes(8) }
    for (const proved of [
      { ...password, version: 2 },
      { ...password, id: 'gone' }
    ])
      await assert.rejects(directory.insertCredential(late, proved), (error) =>
        isMailError(error, 'BUSY')
      )
    await directory.insertCredential(app, password)
    assert.deepEqual(await directory.findCredential(app.id), app)
    assert.deepEqual(await directory.findAppPassword(input.id, lookup), app)
    assert.equal(await directory.findAppPassword(input.id, randomBytes(8)), null)
    assert.equal(await directory.findAppPassword('somebody else', lookup), null)
    assert.deepEqual(await directory.findSingleCredential(input.id, 'password'), password)
    assert.deepEqual(await directory.findSingleCredential(input.id, 'recovery'), recovery)
    assert.deepEqual((await directory.listCredentials(input.id)).at(-1), app)
    assert.deepEqual(await directory.listPepperIds(), [password.pepperId])
    assert.deepEqual(await directory.listSealIdentities(input.id), input.keys.sealIdentities)

    const next = { ...password, version: 2, salt: randomBytes(16), wrappedKey: randomBytes(61) }
    assert.equal(await directory.replaceCredentials([next], { version: 1 }), true)
    assert.deepEqual(await directory.findSingleCredential(input.id, 'password'), next)
    assert.deepEqual(
      await directory.credentialStates([app.id, password.id, 'nothing']),
      new Map([
        [app.id, { version: 1, expiresAtMs: 99 }],
        [password.id, { version: 2, expiresAtMs: null }]
      ])
    )
    assert.equal(await directory.deleteCredential(app.id), true)
    assert.equal(await directory.deleteCredential(app.id), false)
    assert.equal((await directory.credentialStates([app.id])).size, 0)
    assert.equal(await directory.findCredential(app.id), null)
    await assert.rejects(directory.insertCredential(credential('nobody', {}), password), (error) =>
      isMailError(error, 'ACCOUNT_NOT_FOUND')
    )
  })

  test(`${name}: a rekey waits beside the present rows, lets nobody change them, and takes their place or is forgotten`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    const isBusy = (/** @type {unknown} */ error) => isMailError(error, 'BUSY')
    const isMissing = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_NOT_FOUND')
    const [password] = /** @type {[Credential]} */ (input.keys.credentials)
    const fresh = newAccount(data, 'x@example.org').keys
    const next = {
      ...fresh,
      keyEpoch: 2,
      credentials: fresh.credentials.map((row) => ({ ...row, accountId: input.id, keyEpoch: 2 })),
      sealIdentities: fresh.sealIdentities.map((row) => ({ ...row, accountId: input.id }))
    }
    const rekey = { accountId: input.id, wrappedNextKey: randomBytes(61), next, startedAtMs: 5 }
    await directory.beginRekey(rekey)
    assert.deepEqual(await directory.findRekey(input.id), rekey)
    assert.equal((await directory.findAccount(input.id))?.keyEpoch, 1)
    await assert.rejects(directory.insertCredential(credential(input.id), password), isBusy)
    await assert.rejects(
      directory.replaceCredentials([{ ...password, version: 2 }], { version: 1 }),
      isBusy
    )
    for (const keyEpoch of [1, 3]) await directory.cancelRekey(input.id, keyEpoch)
    assert.deepEqual(await directory.findRekey(input.id), rekey, 'another than those')
    await directory.cancelRekey(input.id, 2)
    assert.equal(await directory.findRekey(input.id), null)
    assert.deepEqual(await directory.findSingleCredential(input.id, 'password'), password)

    await directory.beginRekey(rekey)
    await assert.rejects(directory.finishRekey(input.id, 3), isMissing, 'another than that')
    await directory.finishRekey(input.id, 2)
    assert.equal(await directory.findRekey(input.id), null)
    const account = await directory.findAccount(input.id)
    assert.deepEqual(
      [account?.keyEpoch, account?.sealRecipient, account?.sealPublicKey],
      [2, next.sealRecipient, next.sealPublicKey]
    )
    assert.deepEqual(await directory.listSealIdentities(input.id), next.sealIdentities)
    assert.equal(await directory.findCredential(password.id), null)
    await assert.rejects(
      directory.insertCredential(credential(input.id), password),
      isBusy,
      'of yesterday'
    )
    await assert.rejects(directory.finishRekey(input.id, 2), isMissing)
  })

  test(`${name}: an account that is deleted or begun anew loses every key, and its folder is to go`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    const bert = newAccount(data, 'bert@example.org')
    await directory.createAccount(input)
    await directory.createAccount(bert)
    directory.recordUsage(input.id, { bytes: 5, messages: 1 })
    const space = { fileBytes: 4096, freeBytes: 0 }
    directory.recordMaintenance({ accountId: input.id, atMs: 6, space })
    const damaged = { doneAtMs: 0, failures: 1, failedCode: 'ACCOUNT_DAMAGED', nextTryAtMs: 1 }
    for (const accountId of [input.id, bert.id])
      directory.recordMaintenance({ accountId, job: 'quick-check', state: damaged, run: null })
    await directory.flush()
    const anew = newAccount(data, 'anna@example.org')
    const keys = {
      ...anew.keys,
      keyEpoch: 2,
      credentials: anew.keys.credentials.map((row) => ({ ...row, accountId: input.id })),
      sealIdentities: anew.keys.sealIdentities.map((row) => ({ ...row, accountId: input.id }))
    }
    const mailbox = {
      keys,
      folder: anew.folder,
      cipher: /** @type {const} */ ('aegis-256')
    }
    await directory.replaceMailbox(input.id, mailbox)
    // By who looked at the account before: under one epoch there would be two mailboxes.
    const again = { ...mailbox, folder: `${anew.folder}-again` }
    const isBusy = (/** @type {unknown} */ error) => isMailError(error, 'BUSY')
    await assert.rejects(directory.replaceMailbox(input.id, again), isBusy)
    assert.equal((await directory.listCredentials(input.id)).length, 2)
    assert.deepEqual(await directory.listRemovals(), [input.folder])
    // What was found of the old one is not found of this.
    const { failing } = await directory.listMaintenanceFailures()
    assert.deepEqual(
      failing.map(({ accountId }) => accountId),
      [bert.id]
    )
    const [summary] = await directory.listMaintenance({ accountId: input.id })
    assert.deepEqual([summary?.fileBytes, summary?.measuredAtMs], [null, null])
    // Some process has still the old one open.
    directory.recordUsage(input.id, { bytes: 7, messages: 2, folder: input.folder })
    await directory.flush()
    const account = await directory.findByAddress('anna')
    assert.deepEqual(
      [account?.id, account?.folder, account?.cipher, account?.usedBytes, account?.keyEpoch],
      [input.id, anew.folder, 'aegis-256', 0, 2]
    )
    assert.equal(await directory.findCredential(String(input.keys.credentials[0]?.id)), null)
    assert.equal((await directory.listCredentials(input.id)).length, 2)

    await directory.deleteAccount(input.id)
    assert.equal(await directory.findByAddress('anna'), null)
    assert.deepEqual(await directory.listCredentials(input.id), [])
    assert.deepEqual(await directory.listSealIdentities(input.id), [])
    assert.deepEqual((await directory.listRemovals()).sort(), [anew.folder, input.folder].sort())
    await directory.finishRemoval(input.folder)
    assert.deepEqual(await directory.listRemovals(), [anew.folder])
    const isMissing = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_NOT_FOUND')
    await assert.rejects(directory.deleteAccount(input.id), isMissing)
    await assert.rejects(directory.replaceMailbox(input.id, mailbox), isMissing)
    assert.equal((await directory.listCredentials(bert.id)).length, 2)
  })
  test(`${name}: no account comes to stand in a folder that is to be removed`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    const bert = newAccount(data, 'bert@example.org')
    await directory.createAccount(input)
    await directory.createAccount(bert)
    await directory.deleteAccount(input.id)
    const isBusy = (/** @type {unknown} */ error) => isMailError(error, 'BUSY')
    await assert.rejects(directory.createAccount(input), isBusy)
    assert.equal(await directory.findByAddress('anna'), null)
    const { cipher } = bert
    const keys = { ...bert.keys, keyEpoch: 2 }
    for (const folder of [input.folder, bert.folder])
      await assert.rejects(directory.replaceMailbox(bert.id, { keys, folder, cipher }), isBusy)
    assert.equal((await directory.findAccount(bert.id))?.folder, bert.folder)
    assert.equal((await directory.listCredentials(bert.id)).length, 2)
    assert.deepEqual(await directory.listRemovals(), [input.folder])
    await directory.finishRemoval(input.folder)
    assert.equal((await directory.createAccount(input)).folder, input.folder)
  })
}
