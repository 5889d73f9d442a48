/**
 * Mailboxes that are opened, shared and closed, where these meet each other: over real files and the real directory.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { resetAccount } from '../../../src/accounts/change-password.js'
import { openParts } from '../../../src/accounts/open-account.js'
import { OpenAccounts } from '../../../src/accounts/open-accounts.js'
import { deleteAccount, removePendingFolders } from '../../../src/accounts/remove-account.js'
import { SharedParts } from '../../../src/accounts/shared-parts.js'
import { deriveDatabaseKey } from '../../../src/crypto/key-derivation.js'
import { lockExclusive } from '../../../src/database/lock.js'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { measureSpool } from '../../../src/delivery/spool.js'
import { appendMany } from '../../helpers/account-folder.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { NEW, OLD, assertRefused, change, deliver, rekey } from '../../helpers/change-keys.js'
import { lockWriters, nextWrite } from '../../helpers/lock-writers.js'

/** @typedef {import('../../../src/accounts/directory-port.js').Account} Account */
/** @typedef {import('../../../src/accounts/open-accounts.js').MaintenancePort} MaintenancePort */
/** @typedef {import('../../../src/accounts/services.js').AccountServices} AccountServices */
/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

/** No time that a mailbox stays open for runs out by itself here. */
const LINGER_MS = 60_000

/** How often the credentials of live sessions are looked at, ms. */
const LOOK_MS = 2_000

/** After this a drain that was stopped is tried again, ms. */
const RETRY_MS = 5_000

/** @type {MaintenancePort} */
const IDLE = {
  join: () => {},
  beforeClose: async () => {},
  need: () => {},
  leave: async () => null
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<MaintenancePort>} [maintenance]
 */
async function setUp(t, maintenance = {}) {
  /** @type {OpenAccounts[]} */
  const toClose = []
  // Registered before the folder's removal.
  t.after(async () => {
    for (const openAccounts of toClose) await openAccounts.close()
  })
  const { services, lines } = await openTestAccounts(t, { 'accounts.lingerMs': LINGER_MS })
  const { account } = await makeAccount(services)
  /** @type {string[]} accounts whose sessions were ended */
  const ended = []
  const openAccounts = new OpenAccounts({
    services,
    maintenance: { ...IDLE, ...maintenance },
    onLocked: (accountId) => services.unlocker.forget(accountId),
    endSessions: (accountId) => ended.push(accountId)
  })
  toClose.push(openAccounts)
  const enter = async (password = OLD, username = 'anna') =>
    openAccounts.acquire(await logIn(services, password, { username }))
  const look = async () => {
    t.mock.timers.tick(LOOK_MS)
    for (let i = 0; i < 1000 && ended.length === 0; i++) await turn()
  }
  return { services, account, openAccounts, enter, ended, look, lines }
}

/**
 * Spoils the page on which the names of drained files stand; nothing but a drain reads it.
 *
 * @param {{ store: AccountStore }} session
 * @param {string} folder
 * @param {() => Promise<void>} close - the mailbox
 */
async function damageDrained({ store }, folder, close) {
  const { rootPage, pageBytes } = await store.searchAccess.database.read((db) => ({
    rootPage: Number(
      db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'drained'").pluck().get()
    ),
    pageBytes: Number(db.pragma('page_size', { simple: true }))
  }))
  await close()
  const file = await open(join(folder, 'mail.db'), 'r+')
  await file.write(Buffer.alloc(16, 0xff), 0, 16, (rootPage - 1) * pageBytes + 100)
  await file.close()
}

/** @param {{ store: AccountStore }} session */
const count = async ({ store }) => (await store.mailboxStatus('INBOX')).messageCount

test('a session that ends after its mailbox was closed does not close the one that was opened since', async (t) => {
  const { enter, account, openAccounts } = await setUp(t)
  const before = await enter()
  await openAccounts.closeMailbox(account.id, 'closed')
  const after = await enter()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await before.release()
  t.mock.timers.tick(LINGER_MS)
  t.mock.timers.reset()
  await turn()
  assert.ok(openAccounts.isOpen(account.id))
  assert.equal(await count(after), 0)
})

test('who logs in with a new password at once does not save the sessions of the old one', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { enter, services, account, ended, look } = await setUp(t)
  await enter()
  await change(services, account, OLD)
  await enter(NEW)
  await look()
  assert.deepEqual(ended, [account.id])
})

test('a mailbox that takes long to open keeps nobody from being shut out', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { enter, services, account, ended, look, openAccounts } = await setUp(t)
  const { account: other } = await makeAccount(services, 'bert@example.org')
  const lock = await lockExclusive(other.folder, { timeoutMs: 0 })
  const waiting = enter(OLD, 'bert')
  while (!openAccounts.isOpen(other.id)) await turn()
  await enter()
  await change(services, account, OLD)
  await look()
  const endedBefore = [...ended]
  lock.release()
  await waiting
  assert.deepEqual(endedBefore, [account.id])
})

test('mail that INBOX has no UID for waits in the spool, and keeps its owner neither out nor from what is there', async (t) => {
  const { enter, services, account, openAccounts } = await setUp(t)
  const { masterKey } = await logIn(services, OLD)
  await deliver(account)
  const before = await enter()
  assert.equal(await count(before), 1)
  await before.release()
  await openAccounts.closeMailbox(account.id, '')
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  const { folder, cipher } = account
  const { db } = openEncryptedDatabase({ path: join(folder, 'mail.db'), key, cipher })
  db.exec("UPDATE mailboxes SET uid_next = 4294967296 WHERE name = 'INBOX'")
  db.close()
  await deliver(account)
  const session = await enter()
  assert.equal(await count(session), 1)
  const { messages } = await measureSpool(join(folder, 'spool'))
  assert.equal(messages, 1)
  await session.release()
})

test('a login during whose drain the mailbox is closed gets the one that is opened next', async (t) => {
  const { enter, services, account, openAccounts, lines } = await setUp(t)
  await deliver(account)
  const { masterKey } = await logIn(services, OLD)
  const entering = enter()
  while (!openAccounts.isOpen(account.id)) await turn()
  const store = await openAccounts.findStore(account.id)
  const release = lockWriters(account, masterKey)
  await nextWrite(store)
  await openAccounts.closeMailbox(account.id, 'closed')
  release()
  const session = await entering
  assert.equal(await count(session), 1)
  // The close has not waited for the lock of another process, and nobody is warned of it.
  const [stop] = lines.filter(({ msg }) => msg === 'the spool was not drained to its end')
  assert.partialDeepStrictEqual(stop, { level: 'info', stoppedBy: 'SHUTTING_DOWN' })
})

test('a spool whose drain was stopped by the close is left alone from then on', async (t) => {
  const { services, account, lines } = await setUp(t)
  await deliver(account)
  const { masterKey } = await logIn(services, OLD)
  const shared = new SharedParts(services)
  const { store, spool, identities } = await openParts({
    services,
    account,
    masterKey,
    shared: shared.forStore,
    onAlert: () => {}
  })
  const release = lockWriters(account, masterKey)
  const draining = spool.drain()
  await nextWrite(store)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  store.stopWaiting()
  await spool.close()
  const closing = store.close()
  await draining
  t.mock.timers.tick(RETRY_MS)
  t.mock.timers.reset()
  release()
  await closing
  await shared.close()
  for (let i = 0; i < 10; i++) await turn()
  for (const identity of identities) identity.destroy()
  const stops = lines.filter(({ msg }) => msg === 'the spool was not drained to its end')
  assert.deepEqual(
    stops.map(({ accountId }) => accountId),
    [account.id]
  )
})

test('of two logins at once, one that fails takes nothing from the other', async (t) => {
  const { enter, services, account, openAccounts } = await setUp(t)
  await damageDrained(await enter(), account.folder, () =>
    openAccounts.closeMailbox(account.id, 'closed')
  )
  const first = await logIn(services, OLD)
  const second = await logIn(services, OLD)
  const failing = openAccounts.acquire(first)
  const session = await openAccounts.acquire(second)
  await assertRefused(failing, 'ACCOUNT_DAMAGED')
  assert.equal(await count(session), 0)
  await session.release()
  assert.ok(openAccounts.isOpen(account.id))
  assert.equal((await enter()).store, session.store)
})

test('who logs in is let in also where the spool cannot be read, and mail comes as soon as it can', async (t) => {
  const { services, account, openAccounts } = await setUp(t)
  const unlocked = await logIn(services, OLD)
  const spool = join(account.folder, 'spool')
  await deliver(account)
  await rename(spool, `${spool}-away`)
  await writeFile(spool, '')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const session = await openAccounts.acquire(unlocked)
  await rm(spool)
  await rename(`${spool}-away`, spool)
  t.mock.timers.tick(RETRY_MS)
  t.mock.timers.reset()
  while ((await count(session)) === 0) await turn()
  assert.equal(await count(session), 1)
})

test('of a mailbox that does not open the operator hears once, by its id, until it opens again', async (t) => {
  const { services, account, openAccounts, lines } = await setUp(t)
  const file = join(account.folder, 'mail.db')
  const { directory } = services
  const alerts = () =>
    lines.filter(({ msg }) => msg === 'mailbox alert').map((line) => [line.accountId, line.code])
  const fail = async () =>
    assertRefused(openAccounts.acquire(await logIn(services, OLD)), 'ACCOUNT_DAMAGED')
  await rename(file, `${file}-away`)
  for (let times = 0; times < 3; times++) await fail()
  assert.deepEqual(alerts(), [[account.id, 'ACCOUNT_DAMAGED']])
  await rename(`${file}-away`, file)
  await (await openAccounts.acquire(await logIn(services, OLD))).release()
  await openAccounts.closeMailbox(account.id, 'closed')
  await rename(file, `${file}-away`)
  await fail()
  assert.equal(alerts().length, 2)
  await directory.flush()
  const events = await directory.pageAudit({ accountId: account.id, limit: 100 })
  assert.equal(events.filter(({ action }) => action === 'mailbox-alert').length, 2)
  await rename(`${file}-away`, file)
})

test('a restored mailbox that is damaged is on record as such, once it has been looked through', async (t) => {
  const { services, account, enter, openAccounts, lines } = await setUp(t)
  const { store } = await enter()
  await appendMany(store, 'INBOX', 2)
  await store.searchAccess.database.write((db) =>
    db
      .prepare('UPDATE contents SET hash = zeroblob(32) WHERE id = (SELECT min(id) FROM contents)')
      .run()
  )
  await openAccounts.closeMailbox(account.id, 'closed')
  const { directory } = services
  await directory.beginRestore({
    accountId: account.id,
    generation: '2026-11-21T030000Z',
    state: 'check',
    staged: '',
    replaced: '',
    cipher: account.cipher,
    requestedAtMs: 1
  })
  await enter()
  while ((await directory.findRestore(account.id)) !== null) await turn()
  while (!lines.some(({ msg }) => msg === 'a restored mailbox is damaged')) await turn()
  await directory.flush()
  const { failing } = await directory.listMaintenanceFailures()
  assert.deepEqual(
    failing.map(({ accountId, code }) => [accountId, code]),
    [[account.id, 'ACCOUNT_DAMAGED']]
  )
})

test('after the mail was given up, a login finds the new mailbox, not the old one that is still open', async (t) => {
  const { enter, services, account, ended } = await setUp(t)
  const before = await enter()
  await appendMany(before.store, 'INBOX', 2)
  const resetting = resetAccount({ services, account, newPassword: Buffer.from(NEW) })
  while ((await services.directory.findAccount(account.id))?.keyEpoch === account.keyEpoch)
    await turn()
  const after = await enter(NEW)
  assert.equal(await count(after), 0)
  assert.deepEqual(ended, [account.id])
  const { isRemoved, account: now } = await resetting
  assert.ok(isRemoved)
  assert.equal(after.store.folder, now.folder)
})

test('the files of an account that was deleted while its mailbox was open go when that is closed', async (t) => {
  const { enter, services, account, openAccounts, lines } = await setUp(t)
  const session = await enter()
  await services.directory.deleteAccount(account.id)
  assert.deepEqual(await removePendingFolders({ services }), { left: [account.folder] })
  assert.ok(existsSync(account.folder))
  await session.release()
  await openAccounts.closeMailbox(account.id, 'closed')
  assert.equal(existsSync(account.folder), false)
  assert.deepEqual(await services.directory.listRemovals(), [])
  assert.equal(lines.filter(({ level }) => level === 'error').length, 0)
})

for (const [what, erase] of /** @type {const} */ ([
  ['is deleted', deleteAccount],
  [
    'gets an empty mailbox',
    (/** @type {{ services: AccountServices, account: Account }} */ erased) =>
      resetAccount({ ...erased, newPassword: Buffer.from(NEW) })
  ]
])) {
  test(`an account that ${what} elsewhere lets go of its mailbox as soon as that is seen, and the files go`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const { enter, services, account, openAccounts, ended, look } = await setUp(t)
    const session = await enter()
    const erasing = erase({ services, account })
    while (!(await services.directory.listRemovals()).includes(account.folder)) await turn()
    await look()
    assert.deepEqual(ended, [account.id])
    assert.equal(openAccounts.isOpen(account.id), false)
    const { isRemoved } = await erasing
    assert.ok(isRemoved)
    assert.equal(existsSync(account.folder), false)
    await session.release()
  })
}

for (const [what, changeKeys] of /** @type {const} */ ([
  ['a rekey', rekey],
  [
    'a reset',
    (/** @type {AccountServices} */ services, /** @type {Account} */ account) =>
      resetAccount({ services, account, newPassword: Buffer.from(OLD) })
  ]
])) {
  test(`a login that was checked before ${what} is told to come back, and nothing is on record as damaged`, async (t) => {
    const { enter, services, account, openAccounts } = await setUp(t)
    const [early, late] = [await logIn(services, OLD), await logIn(services, OLD)]
    services.unlocker.forget(account.id)
    await changeKeys(services, account)
    await assertRefused(openAccounts.acquire(early), 'BUSY')
    const after = await enter()
    await assertRefused(openAccounts.acquire(late), 'BUSY')
    assert.equal(await count(after), 0)
    assert.equal((await services.directory.listMaintenanceFailures()).failingTotal, 0)
  })
}

test('a login that waits for a mailbox to be closed does not open it when the process ends', async (t) => {
  const { promise: isLeft, resolve: leave } = Promise.withResolvers()
  const { promise: isWaiting, resolve: onWaiting } = Promise.withResolvers()
  let isClosing = false
  const { enter, account, openAccounts } = await setUp(t, {
    need: () => {
      if (isClosing) onWaiting(undefined)
    },
    leave: async () => {
      await isLeft
      return null
    }
  })
  const first = await enter()
  isClosing = true
  const closing = openAccounts.closeMailbox(account.id, 'closed')
  const second = enter()
  await isWaiting
  const closed = openAccounts.close()
  leave(undefined)
  await assertRefused(second, 'SHUTTING_DOWN')
  await Promise.all([closing, closed])
  assert.equal(openAccounts.size, 0)
  await first.release()
})
