/**
 * What every directory keeps about accounts and their addresses.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { isMailError } from '../../../../src/errors.js'
import { newAccount } from '../../../helpers/directory-rows.js'

/** @typedef {import('../../../../src/accounts/directory-port.js').AccountPageQuery} AccountPageQuery */

/** @typedef {import('./index.js').ContractOptions} ContractOptions */

/** @param {ContractOptions} options */
export function accountsContract({ name, setUp }) {
  const isExisting = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_EXISTS')
  const isMissing = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_NOT_FOUND')

  test(`${name}: an account is found as it was created, after a restart too`, async (t) => {
    const { data, directory, open, clock } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    const created = await directory.createAccount(input)
    assert.deepEqual(created, {
      id: input.id,
      address: 'anna@example.org',
      domain: 'example.org',
      tenant: 'example.org',
      folder: input.folder,
      createdAtMs: clock.nowMs(),
      isEnabled: true,
      cipher: 'chacha20',
      quotaBytes: 0,
      quotaMessages: 0,
      usedBytes: 0,
      usedMessages: 0,
      keyEpoch: 1,
      sealRecipient: input.keys.sealRecipient,
      sealPublicKey: input.keys.sealPublicKey
    })
    await directory.close()
    const again = open()
    assert.deepEqual(await again.findAccount(input.id), created)
    assert.deepEqual(
      await again.accountStates(['nobody', input.id]),
      new Map([
        [
          input.id,
          {
            isEnabled: true,
            keyEpoch: 1,
            tenant: 'example.org',
            quotaBytes: 0,
            quotaMessages: 0,
            usedBytes: 0
          }
        ]
      ])
    )
    assert.deepEqual(
      (await again.listCredentials(input.id)).map(({ id }) => id).sort(),
      input.keys.credentials.map(({ id }) => id).sort()
    )
    await again.close()
  })

  test(`${name}: an address is found in any case, by default domain, alias and detail`, async (t) => {
    const { data, directory } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    await directory.addAlias(anna.id, 'Post.Master@Example.org')
    for (const name of [
      'anna@example.org',
      'ANNA@EXAMPLE.ORG',
      'anna',
      'anna+lists@example.org',
      'Anna+a+b',
      'post.master@example.org',
      'post.master+x@example.org'
    ]) {
      assert.equal((await directory.findByAddress(name))?.id, anna.id, name)
    }
    for (const name of [
      '',
      '@',
      'bert@example.org',
      'anna@example.com',
      '+anna',
      'a b',
      'x'.repeat(9999)
    ]) {
      assert.equal(await directory.findByAddress(name), null, name)
    }
  })

  test(`${name}: an account of the full name goes before the owner of the detail`, async (t) => {
    const { data, directory } = await setUp(t)
    await directory.createAccount(newAccount(data, 'anna@example.org'))
    const tagged = await directory.createAccount(newAccount(data, 'anna+work@example.org'))
    assert.equal((await directory.findByAddress('anna+work'))?.id, tagged.id)
  })

  test(`${name}: no address belongs to two accounts, as primary one or alias`, async (t) => {
    const { data, directory } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    const bert = await directory.createAccount(newAccount(data, 'bert@example.org'))
    await directory.addAlias(anna.id, 'info@example.org')
    await assert.rejects(directory.createAccount(newAccount(data, 'anna@example.org')), isExisting)
    await assert.rejects(directory.createAccount(newAccount(data, 'info@example.org')), isExisting)
    await assert.rejects(directory.addAlias(bert.id, 'INFO@example.org'), isExisting)
    await assert.rejects(directory.addAlias(bert.id, 'anna@example.org'), isExisting)
    await assert.rejects(directory.addAlias('nobody', 'free@example.org'), isMissing)
    assert.deepEqual(await directory.listAliases(anna.id), ['info@example.org'])
    assert.equal(await directory.removeAlias(bert.id, 'info@example.org'), false)
    assert.equal(await directory.removeAlias(anna.id, 'anna@example.org'), false)
    assert.equal(await directory.removeAlias(anna.id, 'info@example.org'), true)
    assert.equal(await directory.findByAddress('info@example.org'), null)
  })

  test(`${name}: a creation that fails leaves no row`, async (t) => {
    const { data, directory } = await setUp(t)
    await directory.createAccount(newAccount(data, 'anna@example.org'))
    const twin = newAccount(data, 'anna@example.org')
    await assert.rejects(directory.createAccount(twin), isExisting)
    assert.deepEqual(await directory.listCredentials(twin.id), [])
    assert.deepEqual(await directory.listSealIdentities(twin.id), [])
    assert.equal((await directory.listAccounts()).length, 1)
  })

  test(`${name}: a folder outside the data folder is never taken`, async (t) => {
    const { data, directory } = await setUp(t)
    for (const folder of [data, join(data, '..', 'elsewhere'), '/']) {
      const account = { ...newAccount(data, 'anna@example.org'), folder }
      await assert.rejects(directory.createAccount(account), RangeError)
    }
  })

  test(`${name}: accounts and domains are listed by name`, async (t) => {
    const { data, directory } = await setUp(t)
    for (const address of ['b@example.org', 'a@example.org', 'c@example.com']) {
      await directory.createAccount(newAccount(data, address))
    }
    const addresses = (await directory.listAccounts()).map(({ address }) => address)
    assert.deepEqual(addresses, ['c@example.com', 'a@example.org', 'b@example.org'])
    assert.equal((await directory.listAccounts({ domain: 'example.com' })).length, 1)
    assert.deepEqual(await directory.listDomains(), [
      { name: 'example.com', accounts: 1 },
      { name: 'example.org', accounts: 2 }
    ])
  })

  test(`${name}: an account can be disabled and its quota changed, one without the other`, async (t) => {
    const { data, directory } = await setUp(t)
    const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
    await directory.updateAccount(id, { quotaBytes: 5 })
    await directory.updateAccount(id, { isEnabled: false, quotaMessages: 7 })
    const { folder } = newAccount(data, 'anna@example.org')
    await directory.recordCipher(id, { cipher: 'chacha20', folder })
    await directory.recordCipher(id, {
      cipher: 'aegis-256',
      folder: (await directory.findAccount(id))?.folder ?? ''
    })
    await directory.recordCipher(id, { cipher: 'chacha20', folder })
    const account = await directory.findAccount(id)
    assert.deepEqual(
      [account?.quotaBytes, account?.quotaMessages, account?.isEnabled, account?.cipher],
      [5, 7, false, 'aegis-256']
    )
    for (const change of [{ quotaBytes: 1 }, { tenant: 'example.org' }, {}])
      await assert.rejects(directory.updateAccount('nobody', change), isMissing)
  })

  test(`${name}: of two that ask for one address at once, one gets it`, async (t) => {
    const { data, directory, open } = await setUp(t)
    const other = open()
    const outcomes = await Promise.allSettled(
      [directory, other, directory, other].map((each) =>
        each.createAccount(newAccount(data, 'anna@example.org'))
      )
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(isExisting(outcome.reason), outcome.reason)
    }
    assert.equal((await other.listAccounts()).length, 1)
    await other.close()
  })

  test(`${name}: what one has changed the other sees at its next question`, async (t) => {
    const { data, directory, open } = await setUp(t)
    const other = open()
    const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
    assert.equal((await other.findByAddress('anna'))?.id, id)
    await directory.updateAccount(id, { isEnabled: false })
    assert.equal((await other.findAccount(id))?.isEnabled, false)
    await other.addAlias(id, 'info@example.org')
    assert.deepEqual(await directory.listAliases(id), ['info@example.org'])
    await other.deleteAccount(id)
    assert.equal(await directory.findAccount(id), null)
    await other.close()
  })

  test(`${name}: pages of accounts are searched, sorted and cut, of all tenants or of one`, async (t) => {
    const { data, directory } = await setUp(t)
    const names = ['cy@example.org', 'anna@example.org', 'b_b@example.com', 'bxb@example.com']
    const ids = new Map()
    for (const [index, address] of names.entries()) {
      const { id } = await directory.createAccount(newAccount(data, address))
      ids.set(address, id)
      directory.recordUsage(id, { bytes: 100 * (index + 1), messages: 9 - index })
    }
    await directory.flush()
    const page = async (/** @type {Partial<AccountPageQuery>} */ query) => {
      const { total, accounts } = await directory.pageAccounts({
        sort: 'address',
        isDescending: false,
        limit: 10,
        offset: 0,
        ...query
      })
      return [total, ...accounts.map(({ address }) => address.split('@')[0])]
    }
    assert.deepEqual(await page({}), [4, 'anna', 'b_b', 'bxb', 'cy'])
    assert.deepEqual(await page({ limit: 2, offset: 1 }), [4, 'b_b', 'bxb'])
    assert.deepEqual(await page({ search: 'B_B' }), [1, 'b_b'])
    for (const search of ['%', '\0', 'b\0b', 'b\0'])
      assert.deepEqual(await page({ search }), [0], JSON.stringify(search))
    assert.deepEqual(await page({ tenant: 'example.com', isDescending: true }), [2, 'bxb', 'b_b'])
    assert.deepEqual(await page({ accountId: ids.get('anna@example.org') }), [1, 'anna'])
    assert.deepEqual(await page({ sort: 'usedBytes' }), [4, 'cy', 'anna', 'b_b', 'bxb'])
    assert.deepEqual(await page({ sort: 'usedMessages' }), [4, 'bxb', 'b_b', 'anna', 'cy'])
    for (const sort of /** @type {const} */ ([
      'tenant',
      'createdAtMs',
      'fileBytes',
      'fragmentation'
    ]))
      assert.equal((await page({ sort })).length, 5)
    const { accounts, usedBytes, usedMessages } = await directory.totals()
    assert.deepEqual([accounts, usedBytes, usedMessages], [4, 1000, 30])
    const all = [...ids.values()].sort()
    const first = await directory.pageFolders({ afterId: '', limit: 3 })
    const rest = await directory.pageFolders({ afterId: String(first.at(-1)?.id), limit: 3 })
    assert.deepEqual(
      [...first, ...rest].map(({ id }) => id),
      all
    )
    for (const { id, folder } of first)
      assert.equal(join(data, folder), (await directory.findAccount(id))?.folder)
    await directory.createAccount(newAccount(data, 'jörg@xn--bcher-kva.example'))
    for (const search of ['Bücher', 'bücher.EX', 'JÖRG', 'jörg@bücher', 'xn--bcher'])
      assert.deepEqual(await page({ search }), [1, 'jörg'])
  })
}
