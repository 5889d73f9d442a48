import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { provisionAccount } from '../../../src/accounts/provision.js'
import { removePendingFolders } from '../../../src/accounts/remove-account.js'
import { MailError, isMailError } from '../../../src/errors.js'
import { logIn, makeAccount, openTestAccounts, withStore } from '../../helpers/accounts.js'

const input = (address = 'anna@example.org', password = 'secret') => ({
  address,
  password: Buffer.from(password)
})

test('a new account has the usual folders and a private place on the disk', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account, masterKey } = await provisionAccount({
    services,
    ...input('Anna@Bücher.example'),
    quotaBytes: 5,
    quotaMessages: 6
  })
  assert.equal(account.address, 'anna@xn--bcher-kva.example')
  assert.equal(account.folder, join(data, 'mail', 'xn--bcher-kva.example', account.id))
  assert.deepEqual([account.quotaBytes, account.quotaMessages], [5, 6])
  assert.match(account.sealRecipient, /^age1pq1/)
  const names = await withStore(services, account, masterKey, async (store) =>
    (await store.listMailboxes()).map(({ name }) => name)
  )
  masterKey.dispose()
  for (const name of ['INBOX', 'Drafts', 'Sent', 'Junk', 'Trash', 'Archive']) {
    assert.ok(names.includes(name), name)
  }
  for (const path of [
    'mail',
    'mail/xn--bcher-kva.example',
    `mail/xn--bcher-kva.example/${account.id}`
  ]) {
    assert.equal((await stat(join(data, path))).mode & 0o077, 0, path)
  }
})

test('a name without a domain gets the default one, and the configured quota', async (t) => {
  const { services } = await openTestAccounts(t, { 'accounts.quotaBytes': 77 })
  const { account, masterKey } = await provisionAccount({ services, ...input('anna') })
  masterKey.dispose()
  assert.equal(account.address, 'anna@example.org')
  assert.equal(account.quotaBytes, 77)
})

test('user+tag can become an account of its own, an address that is taken cannot', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await services.directory.addAlias(account.id, 'info@example.org')
  await makeAccount(services, 'anna+work@example.org', 'work secret')
  ;(await logIn(services, 'work secret', { username: 'anna+work' })).masterKey.dispose()
  const derivations = services.argon2.figures.derivations
  for (const address of ['ANNA', 'info@example.org', 'anna+work']) {
    await assert.rejects(provisionAccount({ services, ...input(address) }), (error) =>
      isMailError(error, 'ACCOUNT_EXISTS')
    )
  }
  assert.equal(services.argon2.figures.derivations, derivations)
})

test('of two creations of one address side by side one wins, and nothing is left of the other', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const results = await Promise.allSettled([
    provisionAccount({ services, ...input() }),
    provisionAccount({ services, ...input() })
  ])
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert.equal((await readdir(join(data, 'mail', 'example.org'))).length, 1)
  assert.equal((await services.directory.listAccounts()).length, 1)
})

test('a creation that the disk refuses leaves no row and no folder', async (t) => {
  const { services, data } = await openTestAccounts(t)
  await writeFile(join(data, 'mail'), 'in the way')
  await assert.rejects(provisionAccount({ services, ...input() }))
  assert.deepEqual(await services.directory.listAccounts(), [])
  await rm(join(data, 'mail'))
  const { account, masterKey } = await provisionAccount({ services, ...input() })
  masterKey.dispose()
  assert.equal(existsSync(account.folder), true)
})

test('where the disk fails and nobody knows whether the account stands, its mailbox stays', async (t) => {
  const { services } = await openTestAccounts(t)
  const { directory } = services
  /** @type {typeof directory.createAccount} */
  const createAccount = async (account) => {
    // The log has it, and does not come to the disk: whoever opens the directory next finds it there.
    await directory.createAccount(account)
    throw new MailError('NOT_DURABLE')
  }
  const failing = { ...services, directory: { ...directory, createAccount } }
  await assert.rejects(provisionAccount({ services: failing, ...input() }), {
    code: 'NOT_DURABLE'
  })
  const { account, masterKey } = await logIn(services, 'secret')
  const { problems } = await withStore(services, account, masterKey, (store) => store.verify())
  masterKey.dispose()
  assert.deepEqual(problems, [])
})

test('what a creation has made that was killed before its account stood is removed later', async (t) => {
  const { services, clock, data } = await openTestAccounts(t)
  const { account: bert } = await makeAccount(services, 'bert@example.org')
  const reached = Promise.withResolvers()
  const directory = {
    ...services.directory,
    createAccount: () => {
      reached.resolve(undefined)
      return new Promise(() => {})
    }
  }
  provisionAccount({ services: { ...services, directory }, ...input() })
  await reached.promise
  const folders = async () => (await readdir(join(data, 'mail', 'example.org'))).sort()
  const before = await folders()
  assert.equal(before.length, 2)

  await removePendingFolders({ services })
  assert.deepEqual(await folders(), before, 'it may still be at work')
  clock.advance(60 * 60_000)
  assert.deepEqual(await removePendingFolders({ services }), { left: [] })
  assert.deepEqual(await folders(), [bert.id])
})

test('what cannot be an address or a password is refused before anything is made', async (t) => {
  const { services, data } = await openTestAccounts(t)
  await assert.rejects(provisionAccount({ services, ...input('an na@example.org') }), (error) =>
    isMailError(error, 'ADDRESS_INVALID')
  )
  await assert.rejects(provisionAccount({ services, ...input('anna', '') }), (error) =>
    isMailError(error, 'PASSWORD_REFUSED')
  )
  assert.equal(existsSync(join(data, 'mail')), false)
})
