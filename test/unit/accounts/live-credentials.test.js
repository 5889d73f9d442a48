/**
 * Live sessions are compared with the directory, however many there are.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLiveAccounts } from '../../../src/accounts/live-credentials.js'
import { OpenAccounts } from '../../../src/accounts/open-accounts.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { turnsDuring } from '../../helpers/turns.js'

test('among a thousand mailboxes each one is looked at, and others have their turn meanwhile', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, password } = await makeAccount(services)
  const openAccounts = new OpenAccounts({
    services,
    onLocked: () => {},
    endSessions: () => {}
  })
  t.after(() => openAccounts.close())
  const { store, credentialId, release } = await openAccounts.acquire(
    await logIn(services, password)
  )
  assert.ok(credentialId)
  const credential = await services.directory.findCredential(credentialId)
  const version = credential?.version ?? 0
  await services.directory.updateAccount(account.id, { quotaBytes: 4711 })
  const { account: disabled } = await makeAccount(services, 'bea@example.org')
  await services.directory.updateAccount(disabled.id, { isEnabled: false })

  const live = (/** @type {string} */ id, /** @type {number} */ ofVersion) => ({
    account: { id, keyEpoch: account.keyEpoch },
    parts: { store },
    credentials: [{ id: credentialId, version: ofVersion }]
  })
  const open = Array.from({ length: 1000 }, () => live(account.id, version))
  open[444] = live(disabled.id, version)
  open[555] = live('closed', version)
  open[666] = { ...live(account.id, version), account: { id: account.id, keyEpoch: 7 } }
  open[777] = live(account.id, version - 1)
  /** @type {unknown[]} */
  const ended = []
  /** @type {unknown[]} */
  const closed = []
  const { turns } = await turnsDuring(t, () =>
    checkLiveAccounts({
      services,
      open,
      endSessions: (...ending) => ended.push(ending),
      closeMailbox: (...closing) => closed.push(closing)
    })
  )
  assert.deepEqual(closed, [
    ['closed', 'The account was closed'],
    [account.id, 'The mailbox was made anew, log in again']
  ])
  assert.deepEqual(ended, [
    [disabled.id, 'The account was closed'],
    [
      account.id,
      'The credential was changed or revoked, log in again',
      { id: credentialId, version: version - 1 }
    ]
  ])
  assert.equal(store.quota.bytes, 4711)
  assert.ok(turns >= 9, `${turns} turns of others`)
  await release()
})

test('a mailbox that stays open while nobody uses it gets a new quota all the same', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, password } = await makeAccount(services)
  const openAccounts = new OpenAccounts({ services, onLocked: () => {}, endSessions: () => {} })
  t.after(() => openAccounts.close())
  const { store, release } = await openAccounts.acquire(await logIn(services, password))
  await release()
  await services.directory.updateAccount(account.id, { quotaBytes: 4711, quotaMessages: 3 })
  await checkLiveAccounts({
    services,
    open: [{ account, parts: { store }, credentials: [] }],
    endSessions: assert.fail,
    closeMailbox: assert.fail
  })
  assert.deepEqual([store.quota.bytes, store.quota.messages], [4711, 3])
})

test('an account that is being opened is left alone', async (t) => {
  const { services } = await openTestAccounts(t)
  await checkLiveAccounts({
    services,
    open: [
      {
        account: { id: 'opening', keyEpoch: 1 },
        parts: null,
        credentials: [{ id: 'x', version: 1 }]
      }
    ],
    endSessions: assert.fail,
    closeMailbox: assert.fail
  })
})
